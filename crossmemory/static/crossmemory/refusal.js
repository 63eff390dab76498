/**
 * Why the server did not do something, and what of its answer is for people.
 */

export class ApiError extends Error {
  /**
   * @param {number} status  HTTP status; 0 when no answer came
   * @param {string} code
   * @param {string} detail  a text for people, maybe empty
   * @param {Record<string, any>} [body]  the whole answer
   */
  constructor(status, code, detail, body = {}) {
    super(detail || code || `HTTP ${status}`);
    this.body = body;
    this.status = status;
    this.code = code;
    this.detail = detail;
  }

  /** True when the network failed, so that trying again may help. */
  get offline() {
    return this.status === 0;
  }
}

/**
 * @param {unknown} answer  `{detail}`, or DRF's `{field: [text]}`
 * @returns {string}
 */
export function firstText(answer) {
  if (typeof answer === "string") return answer;
  if (Array.isArray(answer)) return firstText(answer[0]);
  if (answer === null || typeof answer !== "object") return "";
  const { detail, ...fields } = /** @type {Record<string, unknown>} */ (answer);
  return detail ? firstText(detail) : firstText(Object.values(fields)[0]);
}

/**
 * @param {unknown} answer
 * @returns {Record<string, any>}
 */
export function asObject(answer) {
  return answer !== null && typeof answer === "object" ? /** @type {Record<string, any>} */ (answer) : {};
}
