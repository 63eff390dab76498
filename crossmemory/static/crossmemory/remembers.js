/**
 * "What I remember here": what was said elsewhere and counts in this chat, with a switch to leave out a message, a
 * conversation or a surface. Nothing is lost by it: it stays where it was said.
 *
 * @import {Tools} from "./actions.js"
 * @import {Memory} from "./types.js"
 * @import {MemoryNode} from "./memory.js"
 */

import { problemWords } from "./actions.js";
import { openDialog } from "./dialogs.js";
import { h } from "./dom.js";
import { change, counted, tree } from "./memory.js";
import { contextList, folded } from "./saw.js";

export class MemoryDialog {
  /** @type {HTMLElement} */ #list = h("div", { "data-cm": "remembers-list" });
  /** @type {HTMLElement} */ #said = h("p", { class: "cm-soft", role: "status", "data-cm": "remembers-said" });
  /** @type {HTMLElement} */ #problem = h("p", { class: "cm-note", role: "alert", hidden: true });
  /** @type {Promise<void>} switches are sent one after the other */ #sending = Promise.resolve();
  #changed = false;

  /**
   * @param {Tools} tools
   * @param {string} conversation
   */
  constructor({ host, texts, api }, conversation) {
    this.host = host;
    this.texts = texts;
    this.api = api;
    this.conversation = conversation;
  }

  /** @returns {Promise<boolean>} whether anything was changed */
  async open() {
    const { texts } = this;
    const { body, closed } = openDialog(this.host, texts.t("remembers"), texts, "remembers-dialog");
    body.append(h("p", { class: "cm-soft" }, texts.t("loading")));
    try {
      this.#show(await this.api.getMemory(this.conversation));
      body.replaceChildren(this.#problem, this.#said, this.#list, this.#everything());
    } catch {
      body.replaceChildren(h("p", { class: "cm-note" }, texts.t("not_loaded")));
    }
    await closed;
    await this.#sending;
    return this.#changed;
  }

  /** The whole context, on a tap: this chat's own messages too, and why others are not seen. */
  #everything() {
    const { texts } = this;
    return folded({ "data-cm": "would-see" }, [texts.t("would_see")], texts, async () => contextList(await this.api.getContext(this.conversation), texts));
  }

  /** @param {Memory} memory */
  #show(memory) {
    const { texts } = this;
    const nodes = tree(memory, texts);
    if (nodes.length === 0) {
      this.#list.replaceChildren(h("p", {}, texts.t(memory.reads ? "remembers_nothing" : "remembers_apart")));
      return;
    }
    const count = nodes.reduce((sum, node) => sum + counted(node), 0);
    const held = document.activeElement instanceof HTMLElement && this.#list.contains(document.activeElement) ? document.activeElement.id : "";
    this.#list.replaceChildren(
      h("p", { class: "cm-soft" }, texts.t("remembers_intro")),
      h("p", { "data-cm": "remembers-count" }, texts.n("remembers_total", count)),
      this.#branch(nodes),
    );
    if (held) document.getElementById(held)?.focus({ preventScroll: true });
  }

  /**
   * @param {MemoryNode[]} nodes
   * @returns {HTMLElement}
   */
  #branch(nodes) {
    return h("ul", { class: "cm-memory" }, nodes.map((node) => this.#leaf(node)));
  }

  /** @param {MemoryNode} node */
  #leaf(node) {
    const { texts } = this;
    const on = !node.out && !node.covered;
    const box = h("input", {
      type: "checkbox",
      role: "switch",
      id: `cm-remembers-${node.kind}-${node.id}`,
      checked: on,
      disabled: node.covered,
      "data-cm": `remembers-${node.kind}`,
      "data-id": node.id,
    });
    box.addEventListener("change", () => this.#switch(node, box));
    const label = h(
      "label",
      { class: "cm-choice" },
      box,
      h("span", {}, h("span", { class: node.kind === "message" ? "cm-text cm-clip" : "cm-choice-label", dir: "auto" }, node.words), h("span", { class: "cm-soft" }, node.note)),
    );
    return h("li", { "data-kind": node.kind, "data-out": String(!on) }, label, node.children.length > 0 && this.#branch(node.children));
  }

  /**
   * @param {MemoryNode} node
   * @param {HTMLInputElement} box
   */
  #switch(node, box) {
    const out = !box.checked;
    this.#sending = this.#sending.then(async () => {
      const { texts } = this;
      try {
        this.#show(await this.api.leaveOut(this.conversation, change(node, out)));
        this.#changed = true;
        this.#problem.hidden = true;
        this.#said.textContent = texts.t(out ? "remembers_left_out" : "remembers_back");
      } catch (error) {
        box.checked = !box.checked;
        this.#said.textContent = "";
        this.#problem.hidden = false;
        this.#problem.textContent = problemWords(texts, error);
      }
    });
  }
}
