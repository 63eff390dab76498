/**
 * Whether a socket still lives: any frame proves it, silence or a question without an answer ends it.
 *
 * @import {Timers} from "./timers.js"
 */

/**
 * @typedef {object} Patience  Milliseconds.
 * @property {number} silent  without any frame: dead
 * @property {number} probe  without an answer to a question: dead
 * @property {number} fresh  a frame younger than this needs no question
 * @property {number} behind  the server told of something that has not come
 */

export class Liveness {
  #lastFrame = 0;

  /**
   * @param {Timers} timers
   * @param {Patience} times
   * @param {() => number} now  milliseconds
   * @param {() => void} onDead
   */
  constructor(timers, times, now, onDead) {
    this.timers = timers;
    this.times = times;
    this.now = now;
    this.onDead = onDead;
  }

  /** Something came. */
  hear() {
    this.#lastFrame = this.now();
    this.timers.clear("probe");
    if (!this.timers.has("silent")) this.#watchSilence(this.times.silent);
  }

  /**
   * Ask, unless that was just answered.
   * @param {() => void} ask
   */
  probe(ask) {
    if (this.timers.has("probe") || this.now() - this.#lastFrame < this.times.fresh) return;
    ask();
    this.timers.after("probe", this.times.probe, this.onDead);
  }

  /**
   * What the server told of must come soon.
   * @param {() => boolean} isBehind
   */
  expect(isBehind) {
    if (isBehind()) this.timers.after("behind", this.times.behind, () => isBehind() && this.onDead());
  }

  /** @param {number} wait */
  #watchSilence(wait) {
    this.timers.after("silent", wait, () => {
      const left = this.#lastFrame + this.times.silent - this.now();
      if (left > 0) this.#watchSilence(left);
      else this.onDead();
    });
  }
}
