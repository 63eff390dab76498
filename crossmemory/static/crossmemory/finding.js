/**
 * From a search to the place where it was said: the chat is opened, and read back until the message is there.
 *
 * @import {Found} from "./types.js"
 * @import {Session} from "./session.js"
 * @import {Timeline} from "./timeline.js"
 */

/** Messages asked for at once on the way back: the reader waits for the last of them. */
const PAGE = 100;

/**
 * @typedef {object} FinderParts
 * @property {Timeline} timeline
 * @property {() => Session | null} session
 * @property {(conversation: string) => Promise<void>} open
 * @property {(act: () => Promise<unknown>) => Promise<boolean>} attempt  says what went wrong
 * @property {() => void} gone  the message is not there any more
 */

export class Finder {
  /** @type {Found | null} */ #wanted = null;

  /** @param {FinderParts} parts */
  constructor(parts) {
    this.parts = parts;
  }

  /** @param {Found} found */
  async go(found) {
    this.#wanted = found;
    await this.parts.open(found.conversation);
    this.look();
  }

  /** Something was drawn: is it there now? Who goes elsewhere meanwhile is left alone. */
  look() {
    const wanted = this.#wanted;
    const session = this.parts.session();
    if (!wanted || !session) return;
    if (session.conversation !== wanted.conversation) this.#wanted = null;
    else if (session.complete && !session.loadingEarlier) this.#search(session, wanted);
  }

  /**
   * @param {Session} session
   * @param {Found} wanted
   */
  #search(session, wanted) {
    const { before } = session.view;
    if (this.parts.timeline.reveal(wanted.id)) this.#wanted = null;
    else if (before !== null && before > wanted.seq) {
      // A page that does not come ends the way back: it is said, and another click begins anew.
      void this.parts.attempt(() => session.loadEarlier(PAGE)).then((came) => came || (this.#wanted = null));
    } else {
      this.#wanted = null;
      this.parts.gone();
    }
  }
}
