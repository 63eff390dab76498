/**
 * The part of a text that a search is about, and the words in it. Pure functions.
 */

/** Code units shown before the first word that was found. */
const BEFORE = 60;

/**
 * About `most` characters of a text on one line, from a little before the first word that was searched for.
 * @param {string} text
 * @param {string} words
 * @param {number} most
 * @returns {string}
 */
export function snippet(text, words, most) {
  const line = text.replace(/\s+/gu, " ").trim();
  const points = [...line];
  if (points.length <= most) return line;
  const found = matcher(words)?.exec(line);
  const at = found ? [...line.slice(0, found.index)].length : 0;
  const from = Math.max(0, Math.min(at - BEFORE, points.length - most));
  const part = points.slice(from, from + most).join("").trim();
  return `${from > 0 ? "…" : ""}${part}${from + most < points.length ? "…" : ""}`;
}

/**
 * A text cut at the words that were searched for, in any form that begins as they do.
 * @param {string} text
 * @param {string} words
 * @returns {{text: string, hit: boolean}[]}
 */
export function pieces(text, words) {
  const searched = matcher(words);
  if (!searched) return [{ text, hit: false }];
  return text
    .split(searched)
    .map((part, index) => ({ text: part, hit: index % 2 === 1 }))
    .filter(({ text: part }) => part !== "");
}

/**
 * @param {string} words
 * @returns {RegExp | null}
 */
function matcher(words) {
  const stems = words.match(/[\p{L}\p{N}]{2,}/gu)?.map((word) => (word.length > 5 ? word.slice(0, -2) : word)) ?? [];
  if (stems.length === 0) return null;
  stems.sort((one, other) => other.length - one.length);
  return new RegExp(`(?<![\\p{L}\\p{N}])((?:${stems.join("|")})[\\p{L}\\p{N}]*)`, "giu");
}
