/**
 * `<crossmemory-chat>`: reads its attributes and starts the page inside itself. Light DOM, so that the
 * site's own `--cm-` variables and styles reach it.
 *
 * For the page around it: the property `conversation` is the id of the chat that is open, or null, and the
 * event `crossmemory-open` (it bubbles, `detail.conversation`) tells when another one is opened.
 *
 * ```js
 * const chat = document.querySelector("crossmemory-chat");
 * chat.addEventListener("crossmemory-open", () => remember(chat.conversation));
 * chat.conversation = "0192f0c1-…"; // opens that one
 * ```
 */

import { Chat } from "./app.js";
import { signedOutPlace } from "./places.js";
import { Texts } from "./texts.js";

export class CrossmemoryChat extends HTMLElement {
  /** @type {Chat | null} */ chat = null;

  /**
   * The chat that is open; null while there is none: signed out, or a new chat before its first message.
   * @returns {string | null}
   */
  get conversation() {
    return this.chat?.session?.conversation ?? null;
  }

  /** Open this chat; null begins a new one. Before the element is in the page: the one to open first. */
  set conversation(id) {
    if (!this.chat) this.dataset["conversation"] = id ?? "";
    else if (id === null) void this.chat.openNew();
    else if (id !== this.conversation) void this.chat.open(id);
  }

  connectedCallback() {
    if (this.chat) return;
    const { api, socket, user, csrf, login, agent, conversation, localCopy, language, timeZone, strings, maxText, maxFile, maxFiles } = this.dataset;
    const texts = new Texts(readStrings(strings ?? ""), language || "en", timeZone ?? "");
    if (!user || !api || !socket) {
      this.replaceChildren(signedOutPlace(texts, "signed_out", login ?? ""));
      return;
    }
    this.chat = new Chat(this, {
      api,
      socket,
      user,
      csrf: csrf ?? "",
      login: login ?? "",
      agent: agent ?? "",
      conversation: conversation ?? "",
      localCopy: localCopy !== "off",
      // Without a limit nothing is refused here: the server has the last word.
      limits: { text: Number(maxText) || Infinity, file: Number(maxFile) || Infinity, files: Number(maxFiles) || Infinity },
      texts,
    });
    void this.chat.start();
  }

  disconnectedCallback() {
    this.chat?.close();
    this.chat = null;
  }
}

/**
 * @param {string} id  of the JSON script that the template tag wrote
 * @returns {Record<string, string>}
 */
function readStrings(id) {
  try {
    return JSON.parse(document.getElementById(id)?.textContent ?? "{}");
  } catch {
    return {};
  }
}

if (!customElements.get("crossmemory-chat")) customElements.define("crossmemory-chat", CrossmemoryChat);
