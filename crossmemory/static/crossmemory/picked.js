/**
 * Files picked for the next message: by the button, by dropping them, or by pasting.
 *
 * @import {Texts} from "./texts.js"
 */

import { h } from "./dom.js";
import { sizeOf } from "./parts.js";

export class Picked {
  /** @type {File[]} */ files = [];

  /**
   * @param {Texts} texts
   * @param {HTMLElement} target  where files may be dropped and pasted
   * @param {{onProblem: (problem: string) => void, limits: import("./types.js").Limits}} options
   */
  constructor(texts, target, options) {
    this.texts = texts;
    this.options = options;
    this.limits = options.limits;
    this.input = h("input", { type: "file", multiple: true, hidden: true, "data-cm": "file-input" });
    this.button = h("button", { type: "button", class: "cm-quiet cm-attach", "aria-label": texts.t("attach"), title: texts.t("attach"), "data-cm": "attach", onclick: () => this.input.click() }, clip());
    this.element = h("ul", { class: "cm-picked", "data-cm": "picked", hidden: true });
    this.input.addEventListener("change", () => {
      this.add([...(this.input.files ?? [])]);
      this.input.value = "";
    });
    target.addEventListener("paste", (event) => {
      const files = [...(event.clipboardData?.files ?? [])];
      if (files.length === 0) return;
      event.preventDefault();
      this.add(files);
    });
    target.addEventListener("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      target.dataset["drop"] = "";
    });
    target.addEventListener("dragleave", () => delete target.dataset["drop"]);
    target.addEventListener("drop", (event) => {
      delete target.dataset["drop"];
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      this.add([...event.dataTransfer.files]);
    });
  }

  /** @param {File[]} files */
  add(files) {
    const { texts, limits } = this;
    /** @type {string[]} */
    const problems = [];
    for (const file of files) {
      if (file.size > limits.file) problems.push(texts.t("file_too_large", { name: file.name, most: sizeOf(limits.file, texts.language) }));
      else if (file.size === 0) problems.push(texts.t("file_empty", { name: file.name }));
      else if (this.files.length >= limits.files) problems.push(texts.t("too_many_files", { most: limits.files }));
      else this.files.push(file);
    }
    this.options.onProblem(problems[0] ?? "");
    this.#draw();
  }

  /** @returns {File[]} what was picked, which is no longer picked then */
  take() {
    const files = this.files;
    this.files = [];
    this.#draw();
    return files;
  }

  #draw() {
    const { texts } = this;
    this.element.hidden = this.files.length === 0;
    this.element.replaceChildren(
      ...this.files.map((file) => {
        const remove = () => {
          this.files = this.files.filter((each) => each !== file);
          this.#draw();
          this.button.focus();
        };
        return h(
          "li",
          {},
          h("bdi", { class: "cm-file-name" }, file.name),
          h("span", { class: "cm-soft" }, sizeOf(file.size, texts.language)),
          h("button", { type: "button", class: "cm-quiet", "aria-label": texts.t("remove_file", { name: file.name }), "data-cm": "remove-file", onclick: remove }, "×"),
        );
      }),
    );
  }
}

function clip() {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", "M20 11.5l-8.2 8.2a5 5 0 0 1-7.1-7.1l8.6-8.6a3.4 3.4 0 0 1 4.8 4.8l-8.6 8.6a1.7 1.7 0 0 1-2.4-2.4l7.5-7.5");
  svg.append(path);
  return svg;
}
