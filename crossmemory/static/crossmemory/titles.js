/** Code points of the title that a new chat takes from its first message. */
const LENGTH = 48;

/**
 * A first title for a chat: how its first message begins. Square brackets are left to other places' names.
 * @param {string} text
 * @returns {string}
 */
export function titleOf(text) {
  const line = text.trim().split("\n", 1)[0] ?? "";
  const points = [...line.replace(/[[\]]/g, "").trim()];
  return points.length > LENGTH ? `${points.slice(0, LENGTH - 1).join("").trimEnd()}…` : points.join("");
}
