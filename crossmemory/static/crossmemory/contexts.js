/**
 * What the assistant saw when it answered, and what it has heard elsewhere since.
 *
 * @import {Api} from "./api.js"
 * @import {Session} from "./session.js"
 * @import {Context, Elsewhere} from "./types.js"
 */

import { elsewhereSince } from "./elsewhere.js";

export class Contexts {
  /** @type {Map<string, Promise<Context>>} */ #runs = new Map();

  /** @param {Api} api */
  constructor(api) {
    this.api = api;
  }

  /**
   * What one answer was made of; it never changes, so it is asked for once.
   * @param {string} run
   * @returns {Promise<Context>}
   */
  ofRun(run) {
    const loading = this.#runs.get(run) ?? this.api.getRun(run);
    this.#runs.set(run, loading);
    loading.catch(() => this.#runs.delete(run));
    return loading;
  }

  /**
   * What was said on other surfaces since this chat's last answer, a line each.
   * @param {Session} session
   * @param {string} surface  of this chat
   * @returns {Promise<{elsewhere: Elsewhere, load: () => Promise<Context>}[]>}
   */
  async elsewhere(session, surface) {
    const context = await this.api.getContext(session.conversation).catch(() => null);
    if (context === null) return [];
    const found = elsewhereSince(context, session.view.items, surface);
    return found.map((elsewhere) => ({ elsewhere, load: async () => context }));
  }
}
