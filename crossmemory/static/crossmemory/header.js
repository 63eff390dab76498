/**
 * The line above a conversation: its name, whether it is remembered, the state of the connection, its menu.
 *
 * @import {Conversation, LinkState} from "./types.js"
 * @import {Texts} from "./texts.js"
 */

import { h } from "./dom.js";
import { chip } from "./saw.js";

/**
 * @typedef {object} HeaderActions
 * @property {() => void} onChats  show the list (narrow screens)
 * @property {() => void} onRename
 * @property {() => void} onKeepOut
 * @property {() => void} onMemory
 * @property {() => void} onDelete
 */

const FINAL_WORDS = new Map([
  [4501, "state_signed_out"],
  [4503, "state_not_allowed"],
  [4504, "state_gone"],
  [4510, "state_protocol"],
]);

export class Header {
  /**
   * @param {Texts} texts
   * @param {HeaderActions} actions
   */
  constructor(texts, actions) {
    this.texts = texts;
    this.chats = h("button", { type: "button", class: "cm-icon cm-chats", "aria-label": texts.t("chats"), "data-cm": "chats", onclick: () => actions.onChats() }, "☰");
    this.title = h("bdi", {});
    this.marks = h("span", { class: "cm-marks" });
    this.word = h("span", {});
    this.state = h("span", { class: "cm-state", role: "status", "data-cm": "state", "data-state": "connecting" }, h("span", { class: "cm-dot", "aria-hidden": "true" }), this.word);
    this.rename = this.#item("rename", texts.t("rename"), () => actions.onRename());
    this.keepOut = this.#item("keep-out", texts.t("keep_out"), () => actions.onKeepOut());
    this.keepOut.setAttribute("role", "switch");
    this.keepOut.classList.add("cm-switch");
    this.memory = this.#item("remembers", texts.t("remembers"), () => actions.onMemory());
    this.remove = this.#item("delete", texts.t("delete"), () => actions.onDelete());
    this.remove.classList.add("cm-bad");
    this.menu = h(
      "details",
      { class: "cm-menu", "data-cm": "chat-menu" },
      h("summary", { class: "cm-icon", "aria-label": texts.t("chat_menu") }, "⋯"),
      h("div", { class: "cm-menu-items" }, this.rename, this.keepOut, this.memory, this.remove),
    );
    this.element = h("header", { class: "cm-header" }, this.chats, h("h2", {}, this.title, this.marks), this.state, this.menu);
    this.menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      this.menu.open = false;
      this.menu.querySelector("summary")?.focus();
    });
    this.menu.addEventListener("focusout", (event) => {
      const to = /** @type {Node | null} */ (event.relatedTarget);
      if (to && !this.menu.contains(to)) this.menu.open = false;
    });
    document.addEventListener("click", (event) => {
      if (!this.menu.contains(/** @type {Node} */ (event.target))) this.menu.open = false;
    });
  }

  /**
   * @param {object} shown
   * @param {Conversation | null} shown.conversation
   * @param {string} shown.title
   * @param {LinkState | null} shown.link  null hides the state: nothing is open
   * @param {number | null} shown.code
   */
  show({ conversation, title, link, code }) {
    const { texts } = this;
    const own = conversation !== null && !conversation.singleton && !conversation.read_only;
    this.title.textContent = title;
    this.marks.replaceChildren(
      ...(conversation && !own ? [chip(conversation.surface_label, conversation.surface)] : []),
      ...(conversation && !conversation.shared ? [h("span", { class: "cm-mark", "data-cm": "not-remembered" }, texts.t("not_remembered"))] : []),
    );
    this.state.hidden = link === null;
    this.state.dataset["state"] = link ?? "";
    const word = link === "final" ? (FINAL_WORDS.get(code ?? 0) ?? "state_final") : `state_${link}`;
    if (link && this.word.textContent !== texts.t(word)) this.word.textContent = texts.t(word);
    this.menu.hidden = conversation === null;
    this.rename.hidden = this.remove.hidden = this.keepOut.hidden = !own;
    this.keepOut.setAttribute("aria-checked", String(conversation !== null && !conversation.shared));
  }

  /**
   * @param {string} name
   * @param {string} label
   * @param {() => void} act
   */
  #item(name, label, act) {
    const button = h("button", { type: "button", "data-cm": name }, label);
    button.addEventListener("click", () => {
      if (name !== "keep-out") this.menu.open = false;
      act();
    });
    return button;
  }
}
