/**
 * Where a message is written. Enter sends (on a touch screen it makes a new line); composing never sends.
 *
 * @import {Limits} from "./types.js"
 * @import {Texts} from "./texts.js"
 */

import { h } from "./dom.js";
import { Picked } from "./picked.js";

/**
 * @typedef {object} ComposerActions
 * @property {(text: string, files: File[]) => boolean} onSend  false keeps the text in the box
 * @property {() => void} onStop
 * @property {(text: string) => void} onDraft
 */

export class Composer {
  /**
   * @param {Texts} texts
   * @param {ComposerActions} actions
   * @param {Limits} limits
   */
  constructor(texts, actions, limits) {
    this.texts = texts;
    this.actions = actions;
    this.limits = limits;
    this.box = h("textarea", {
      rows: "1",
      dir: "auto",
      "aria-label": texts.t("message"),
      placeholder: texts.t("message"),
      enterkeyhint: touch() ? "enter" : "send",
      autocomplete: "off",
      "data-cm": "input",
    });
    this.stop = h("button", { type: "button", class: "cm-quiet", "data-cm": "stop", hidden: true, onclick: () => actions.onStop() }, texts.t("stop"));
    this.button = h("button", { type: "submit", class: "cm-strong", "data-cm": "send" }, texts.t("send"));
    this.problem = h("p", { class: "cm-note", role: "alert", "data-cm": "composer-problem", hidden: true });
    this.element = h("form", { class: "cm-composer", "data-cm": "composer", novalidate: true }, this.problem);
    this.picked = new Picked(texts, this.element, { onProblem: (problem) => this.say(problem), limits });
    this.element.append(this.picked.element, this.picked.input, this.picked.button, this.box, this.stop, this.button);
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.box.addEventListener("keydown", (event) => this.#key(event));
    this.box.addEventListener("input", () => {
      this.#grow();
      this.say("");
      actions.onDraft(this.box.value);
    });
  }

  /** @param {string} text */
  setText(text) {
    this.box.value = text;
    this.#grow();
  }

  get text() {
    return this.box.value;
  }

  /** @param {boolean} busy  a run is queued or at work */
  setBusy(busy) {
    this.stop.hidden = !busy;
  }

  /** @param {string} problem  empty takes it away */
  say(problem) {
    this.problem.hidden = problem === "";
    this.problem.textContent = problem;
  }

  focus() {
    this.box.focus({ preventScroll: true });
  }

  /** Focus where it does not call up a keyboard that nobody asked for. */
  offerFocus() {
    if (!touch()) this.focus();
  }

  #submit() {
    const text = this.box.value;
    const { files } = this.picked;
    if (text.trim() === "" && files.length === 0) return;
    if (new TextEncoder().encode(text).length > this.limits.text) {
      this.say(this.texts.t("refused_too_long"));
      return;
    }
    if (!this.actions.onSend(text, [...files])) return;
    this.picked.take();
    this.setText("");
    this.say("");
    this.actions.onDraft("");
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    // 229 is what Safari reports for the Enter that ends a composition.
    if (event.key !== "Enter" || event.isComposing || event.keyCode === 229) return;
    if (event.ctrlKey || event.metaKey || (!event.shiftKey && !event.altKey && !touch())) {
      event.preventDefault();
      this.#submit();
    }
  }

  #grow() {
    this.box.style.blockSize = "auto";
    if (this.box.value) this.box.style.blockSize = `${this.box.scrollHeight + 2}px`;
  }
}

/** True where the first pointer is a finger. */
function touch() {
  return globalThis.matchMedia?.("(pointer: coarse)").matches ?? false;
}
