/**
 * Searching in everything that was said: words, what was found with what stands around it, and the way there.
 *
 * @import {Api} from "./api.js"
 * @import {Found} from "./types.js"
 * @import {Texts} from "./texts.js"
 */

import { openDialog } from "./dialogs.js";
import { h } from "./dom.js";
import { chip } from "./saw.js";
import { pieces, snippet } from "./snippets.js";

/** Milliseconds without a key after which is searched. */
const PAUSE = 250;

/** Characters below which nothing is searched: every message has them. */
const LEAST = 2;

export class SearchDialog {
  /** @type {AbortController | null} */ #asking = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #soon;
  /** @type {Found | null} */ #chosen = null;
  #close = () => {};

  /** @param {{host: HTMLElement, texts: Texts, api: Api}} options */
  constructor({ host, texts, api }) {
    this.host = host;
    this.texts = texts;
    this.api = api;
    this.field = h("input", { type: "search", dir: "auto", maxlength: 1000, autocomplete: "off", "aria-label": texts.t("search_field"), placeholder: texts.t("search_field"), "data-cm": "search-field" });
    this.said = h("p", { class: "cm-soft", role: "status", "data-cm": "search-said" }, texts.t("search_hint"));
    this.results = h("ol", { class: "cm-found", "data-cm": "search-results" });
  }

  /** @returns {Promise<Found | null>} what was chosen */
  async open() {
    const { dialog, body, closed } = openDialog(this.host, this.texts.t("search_title"), this.texts, "search");
    this.#close = () => dialog.close();
    body.append(this.field, this.said, this.results);
    this.field.addEventListener("input", () => this.#later());
    dialog.addEventListener("keydown", (event) => this.#key(event));
    this.field.focus();
    await closed;
    clearTimeout(this.#soon);
    this.#asking?.abort();
    return this.#chosen;
  }

  #later() {
    clearTimeout(this.#soon);
    this.#asking?.abort();
    this.#soon = setTimeout(() => void this.#search(this.field.value.trim()), PAUSE);
  }

  /** @param {string} words */
  async #search(words) {
    const { texts } = this;
    if (words.length < LEAST) {
      this.results.replaceChildren();
      this.said.textContent = texts.t("search_hint");
      return;
    }
    const asking = (this.#asking = new AbortController());
    this.said.textContent = texts.t("loading");
    try {
      const { results } = await this.api.search(words, asking.signal);
      if (asking.signal.aborted) return;
      this.results.replaceChildren(...results.map((found) => this.#row(found, words)));
      this.said.textContent = results.length === 0 ? texts.t("search_none") : texts.n("search_found", results.length);
    } catch {
      if (asking.signal.aborted) return;
      this.results.replaceChildren();
      this.said.textContent = texts.t("not_loaded");
    }
  }

  /**
   * @param {Found} found
   * @param {string} words
   */
  #row(found, words) {
    const { texts } = this;
    const who = (/** @type {{role: string}} */ { role }) => texts.t(role === "user" ? "you_said" : "assistant_said");
    const beside = (/** @type {Found} */ message) => h("span", { class: "cm-soft cm-beside", dir: "auto" }, `${who(message)} ${snippet(message.text, "", 90)}`);
    const button = h(
      "button",
      { type: "button", class: "cm-item", "data-cm": "search-result", "data-id": found.id },
      h("span", { class: "cm-soft" }, chip(found.surface_label, found.surface), " ", h("bdi", {}, found.title || texts.t("untitled")), ` · ${texts.when(found.at)}`),
      found.before.map(beside),
      h("span", { class: "cm-text", dir: "auto" }, `${who(found)} `, pieces(snippet(found.text, words, 240), words).map(({ text, hit }) => (hit ? h("mark", {}, text) : text))),
      found.after.map(beside),
    );
    button.addEventListener("click", () => {
      this.#chosen = found;
      this.#close();
    });
    return h("li", {}, button);
  }

  /**
   * Up and down go through what was found, and back to the words. Escape closes, also while there are words, which
   * browsers would only empty.
   * @param {KeyboardEvent} event
   */
  #key(event) {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      event.preventDefault();
      this.#close();
    }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const stops = [this.field, ...this.results.querySelectorAll("button")];
    const at = stops.indexOf(/** @type {HTMLInputElement} */ (document.activeElement));
    const next = stops[at + (event.key === "ArrowDown" ? 1 : -1)];
    if (at < 0 || !next) return;
    event.preventDefault();
    next.focus();
  }
}
