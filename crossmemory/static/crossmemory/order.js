/**
 * The order of a replay's batches: numbered from 0, none left out, none of an older replay.
 *
 * @import {Batch} from "./types.js"
 */

export class BatchOrder {
  /** @type {string | null} */ #replay = null;
  /** @type {Set<string>} */ #older = new Set();
  #next = 0;

  /** True once the last batch has come: what follows is live. */
  synced = false;

  /** A new socket: whatever came before says nothing about what comes. */
  reset() {
    this.#replay = null;
    this.#older.clear();
    this.#next = 0;
    this.synced = false;
  }

  /**
   * @param {Batch} batch
   * @returns {"begins" | "follows" | "stale" | "missed"}  a replay begins or goes on with it; it was there already or
   *     belongs to an older replay; or one before it is missing
   */
  place({ replay_id, batch, last }) {
    const begins = replay_id !== this.#replay;
    if (begins) {
      if (this.#older.has(replay_id)) return "stale";
      if (batch !== 0) return "missed";
      if (this.#replay !== null) this.#older.add(this.#replay);
      this.#replay = replay_id;
      this.#next = 0;
      this.synced = false;
    }
    if (batch < this.#next) return "stale";
    if (batch > this.#next) return "missed";
    this.#next += 1;
    if (last) this.synced = true;
    return begins ? "begins" : "follows";
  }
}
