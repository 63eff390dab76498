/** Time that passes only when the test says so: `setTimeout`, `clearTimeout`, `Date.now`. */

export class Clock {
  #real = { setTimeout, clearTimeout, now: Date.now };
  #waiting = new Map();
  #last = 0;
  now = 0; // milliseconds

  install() {
    globalThis.setTimeout = (then, wait = 0) => {
      this.#waiting.set((this.#last += 1), { at: this.now + wait, then });
      return this.#last;
    };
    globalThis.clearTimeout = (id) => void this.#waiting.delete(id);
    Date.now = () => this.now;
  }

  restore() {
    globalThis.setTimeout = this.#real.setTimeout;
    globalThis.clearTimeout = this.#real.clearTimeout;
    Date.now = this.#real.now;
  }

  /** @param {number} milliseconds */
  tick(milliseconds) {
    const until = this.now + milliseconds;
    for (let next = this.#next(until); next; next = this.#next(until)) {
      const [id, { at, then }] = next;
      this.#waiting.delete(id);
      this.now = at;
      then();
    }
    this.now = until;
  }

  /** What is due first, up to a moment. */
  #next(until) {
    const due = [...this.#waiting].filter(([, { at }]) => at <= until);
    return due.sort(([, a], [, b]) => a.at - b.at)[0];
  }
}
