/**
 * What a person does to a chat or a message, from its menu: asked first where something could be lost, sent
 * to the server, and said when it did not work.
 *
 * @import {Tools} from "./actions.js"
 * @import {Conversation, MessageItem} from "./types.js"
 * @import {Session} from "./session.js"
 */

import { askDelete, askDeleteMessage, askTitle, editMessage, problemWords } from "./actions.js";

/**
 * @typedef {object} Page  What the deeds need of it.
 * @property {() => Session | null} session
 * @property {() => Conversation | null} chat
 * @property {() => boolean} busy  a run is queued or at work
 * @property {(problem: string) => void} say
 * @property {(id: string, changes: Partial<Conversation>) => void} patch
 * @property {(id: string) => Promise<void>} leave  a chat that is no more
 */

export class Deeds {
  /** @param {Tools & Page} page */
  constructor(page) {
    this.page = page;
    this.api = page.api;
  }

  /**
   * Do something that needs the server; say it when it did not work.
   * @param {() => Promise<unknown>} act
   * @param {string} [otherwise]  key of what to say without the server's own words
   * @returns {Promise<boolean>} whether it did
   */
  async attempt(act, otherwise = "did_not_work") {
    try {
      await act();
      this.page.say("");
      return true;
    } catch (error) {
      this.page.say(problemWords(this.page.texts, error, otherwise));
      return false;
    }
  }

  async rename() {
    const chat = this.page.chat();
    const title = chat && (await askTitle(this.page, chat));
    if (chat && title) await this.#change(chat, { title });
  }

  async toggleShared() {
    const chat = this.page.chat();
    if (chat) await this.#change(chat, { shared: !chat.shared });
  }

  async remove() {
    const chat = this.page.chat();
    if (!chat || !(await askDelete(this.page))) return;
    await this.attempt(async () => {
      await this.api.deleteConversation(chat.id);
      await this.page.leave(chat.id);
    });
  }

  /** @param {MessageItem} item */
  editMessage(item) {
    const session = this.page.session();
    if (!session) return;
    const newest = session.view.items.findLast((other) => other.kind === "message" && other.role === "user");
    editMessage(this.page, session.conversation, item, newest === item && !this.page.busy());
  }

  /** @param {MessageItem} item */
  async deleteMessage(item) {
    const id = this.page.session()?.conversation;
    if (id && (await askDeleteMessage(this.page, item))) await this.attempt(() => this.api.deleteMessage(id, item.id));
  }

  /** Another answer to what was said last. */
  async again() {
    const id = this.page.session()?.conversation;
    if (id) await this.attempt(() => this.api.answerAgain(id));
  }

  /**
   * @param {Conversation} chat
   * @param {{title?: string, shared?: boolean}} changes
   */
  #change(chat, changes) {
    return this.attempt(async () => this.page.patch(chat.id, await this.api.changeConversation(chat.id, changes)));
  }
}
