/**
 * Timers by name: setting one again moves it.
 */

export class Timers {
  /** @type {Map<string, ReturnType<typeof setTimeout>>} */ #running = new Map();

  /**
   * @param {string} name
   * @param {number} wait  milliseconds
   * @param {() => void} then
   */
  after(name, wait, then) {
    this.clear(name);
    this.#running.set(
      name,
      setTimeout(() => {
        this.#running.delete(name);
        then();
      }, wait),
    );
  }

  /** @param {string} name */
  has(name) {
    return this.#running.has(name);
  }

  /** @param {string} name */
  clear(name) {
    clearTimeout(this.#running.get(name));
    this.#running.delete(name);
  }

  clearAll() {
    for (const name of [...this.#running.keys()]) this.clear(name);
  }
}
