/**
 * Questions that need an answer before something is done. Native dialogs: Escape and focus come with them.
 *
 * @import {Texts} from "./texts.js"
 */

import { h } from "./dom.js";

/**
 * Show a dialog until it is closed.
 * @param {HTMLElement} host
 * @param {string} title
 * @param {Texts} texts
 * @param {string} name  value of data-cm
 * @returns {{dialog: HTMLDialogElement, body: HTMLElement, closed: Promise<void>}}
 */
export function openDialog(host, title, texts, name) {
  const body = h("div", { class: "cm-dialog-body" });
  const id = `cm-${name}-title`;
  const close = h("button", { type: "button", class: "cm-icon", "aria-label": texts.t("close"), "data-cm": "close" }, "×");
  const dialog = h("dialog", { class: "cm-dialog", "aria-labelledby": id, "data-cm": name }, h("header", {}, h("h2", { id }, title), close), body);
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  host.append(dialog);
  /** @type {Promise<void>} */
  const closed = new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve();
    });
  });
  dialog.showModal();
  return { dialog, body, closed };
}

/**
 * @typedef {object} Question
 * @property {string} title
 * @property {string} [text]
 * @property {string} confirm  what the button says
 * @property {boolean} [danger]
 * @property {{value: string, label: string}[]} [choices]
 * @property {{label: string, value: string, maxLength: number}} [input]
 */

/**
 * @param {HTMLElement} host
 * @param {Texts} texts
 * @param {Question} question
 * @returns {Promise<string | null>} the choice or the text typed ("yes" without either), null when dismissed
 */
export async function ask(host, texts, question) {
  const { dialog, body, closed } = openDialog(host, question.title, texts, "ask");
  /** @type {string | null} */
  let answer = null;
  const { input } = question;
  const field = input && h("input", { type: "text", dir: "auto", value: input.value, maxlength: input.maxLength, "aria-label": input.label, required: true, "data-cm": "ask-input" });
  const form = h(
    "form",
    { method: "dialog" },
    question.text && h("p", {}, question.text),
    field,
    (question.choices ?? []).map(({ value, label }, index) => radio("cm-ask", value, label, "", index === 0)),
    h(
      "div",
      { class: "cm-actions" },
      h("button", { type: "submit", class: question.danger ? "cm-strong cm-danger" : "cm-strong", "data-cm": "ask-confirm" }, question.confirm),
      h("button", { type: "button", class: "cm-quiet", "data-cm": "ask-cancel", onclick: () => dialog.close() }, texts.t("cancel")),
    ),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = /** @type {HTMLInputElement | null} */ (form.querySelector("input[type=radio]:checked"));
    answer = field ? field.value.trim() : (chosen?.value ?? "yes");
    if (answer) dialog.close();
  });
  body.append(form);
  field?.select();
  await closed;
  return answer;
}

/**
 * @param {string} name
 * @param {string} value
 * @param {string} label
 * @param {string} explained
 * @param {boolean} checked
 * @returns {HTMLElement}
 */
export function radio(name, value, label, explained, checked) {
  return h(
    "label",
    { class: "cm-choice" },
    h("input", { type: "radio", name, value, checked, "data-cm": `choice-${value}` }),
    h("span", {}, h("span", { class: "cm-choice-label" }, label), explained && h("span", { class: "cm-soft" }, explained)),
  );
}

/**
 * A switch with its explanation.
 *
 * @param {string} name
 * @param {string} label
 * @param {string} explained
 * @param {boolean} checked
 */
export function check(name, label, explained, checked) {
  return h(
    "label",
    { class: "cm-choice" },
    h("input", { type: "checkbox", name, checked, "data-cm": `check-${name}` }),
    h("span", {}, h("span", { class: "cm-choice-label" }, label), h("span", { class: "cm-soft" }, explained)),
  );
}
