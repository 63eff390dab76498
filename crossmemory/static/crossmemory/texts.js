/**
 * Words and times for people: the site's translated strings, the reader's language and time zone.
 */

export class Texts {
  /** @type {Map<string, string>} days by minute: asking the browser's calendar is slow */ #days = new Map();

  /**
   * @param {Record<string, string>} strings
   * @param {string} [language]  BCP 47
   * @param {string} [timeZone]  IANA name; empty for the browser's own
   */
  constructor(strings, language = "en", timeZone = "") {
    this.strings = strings;
    this.language = language;
    this.plural = new Intl.PluralRules(language);
    const zone = zoneOptions(timeZone);
    this.clock = new Intl.DateTimeFormat(language, { timeStyle: "short", ...zone });
    this.date = new Intl.DateTimeFormat(language, { weekday: "long", day: "numeric", month: "long", ...zone });
    this.fullDate = new Intl.DateTimeFormat(language, { dateStyle: "long", ...zone });
    this.short = new Intl.DateTimeFormat(language, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", ...zone });
    // A calendar day in the reader's zone, as a key that sorts.
    this.day = new Intl.DateTimeFormat("en-CA", { year: "numeric", month: "2-digit", day: "2-digit", ...zone });
  }

  /**
   * @param {string} key
   * @param {Record<string, string | number>} [values]  put in place of `{name}`
   * @returns {string}
   */
  t(key, values = {}) {
    const text = this.strings[key] ?? key;
    return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
  }

  /**
   * The form of `key` that fits a number: `key_one`, `key_other`, or another plural category of the language.
   * @param {string} key
   * @param {number} count
   * @param {Record<string, string | number>} [values]
   * @returns {string}
   */
  n(key, count, values = {}) {
    const form = `${key}_${this.plural.select(count)}`;
    return this.t(form in this.strings ? form : `${key}_other`, { count, ...values });
  }

  /**
   * @param {string | null | undefined} iso
   * @returns {string} hour and minute, or nothing
   */
  time(iso) {
    const date = parse(iso);
    return date ? this.clock.format(date) : "";
  }

  /**
   * @param {string | null | undefined} iso
   * @returns {string} the time alone when it is today
   */
  when(iso) {
    const date = parse(iso);
    if (!date) return "";
    return this.day.format(date) === this.day.format(new Date()) ? this.clock.format(date) : this.short.format(date);
  }

  /**
   * @param {string | null | undefined} iso
   * @returns {string} `2026-11-30` in the reader's zone, or nothing
   */
  dayKey(iso) {
    const minute = iso?.slice(0, 16) ?? ""; // a day begins with a minute, in every zone
    const known = this.#days.get(minute);
    if (known !== undefined) return known;
    const date = parse(iso);
    const key = date ? this.day.format(date) : "";
    this.#days.set(minute, key);
    return key;
  }

  /**
   * @param {string} iso
   * @returns {string}
   */
  dayName(iso) {
    const date = parse(iso) ?? new Date();
    const now = new Date();
    const key = this.day.format(date);
    if (key === this.day.format(now)) return this.t("today");
    if (key === this.day.format(new Date(now.getTime() - 86_400_000))) return this.t("yesterday");
    return key.slice(0, 4) === this.day.format(now).slice(0, 4) ? this.date.format(date) : this.fullDate.format(date);
  }
}

/**
 * Put a name from outside into a sentence without letting it turn the sentence around: first-strong
 * isolates, and no override characters inside (Unicode UAX #9).
 * @param {string} text
 * @returns {string}
 */
export function isolate(text) {
  return `\u2068${text.replace(/[\u202a-\u202e\u2066-\u2069]/g, "")}\u2069`;
}

/** @param {string | null | undefined} iso */
function parse(iso) {
  if (!iso) return null;
  const date = new Date(iso);
  return Number.isNaN(date.getTime()) ? null : date;
}

/** @param {string} timeZone */
function zoneOptions(timeZone) {
  if (!timeZone) return {};
  try {
    new Intl.DateTimeFormat("en", { timeZone });
    return { timeZone };
  } catch {
    return {};
  }
}
