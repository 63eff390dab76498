/**
 * What the menus of a chat and of a message do. Each asks first where something could be lost.
 *
 * @import {Api} from "./api.js"
 * @import {Conversation, MessageItem} from "./types.js"
 * @import {Texts} from "./texts.js"
 */

import { ApiError } from "./api.js";
import { ask, openDialog } from "./dialogs.js";
import { h } from "./dom.js";
import { ownWords } from "./parts.js";

/** Characters of a title. */
const MAX_TITLE = 200;

/**
 * @typedef {object} Tools
 * @property {HTMLElement} host
 * @property {Texts} texts
 * @property {Api} api
 */

/**
 * @param {Tools} tools
 * @param {Conversation} chat
 * @returns {Promise<string | null>} a new title, null to leave it
 */
export async function askTitle({ host, texts }, chat) {
  const input = { label: texts.t("title"), value: chat.title, maxLength: MAX_TITLE };
  const title = await ask(host, texts, { title: texts.t("rename"), confirm: texts.t("save"), input });
  return title === chat.title ? null : title;
}

/**
 * @param {Tools} tools
 * @returns {Promise<boolean>}
 */
export async function askDelete({ host, texts }) {
  const question = { title: texts.t("delete_title"), text: texts.t("delete_text"), confirm: texts.t("delete"), danger: true };
  return (await ask(host, texts, question)) !== null;
}

/**
 * @param {Tools} tools
 * @param {MessageItem} item
 * @returns {Promise<boolean>}
 */
export async function askDeleteMessage({ host, texts }, item) {
  const text = texts.t(item.role === "user" ? "delete_message_own" : "delete_message_answer");
  const question = { title: texts.t("delete_message_title"), text, confirm: texts.t("delete"), danger: true };
  return (await ask(host, texts, question)) !== null;
}

/**
 * Change what this person said. The dialog stays open, with its words, until the server has taken them.
 * @param {Tools} tools
 * @param {string} conversation
 * @param {MessageItem} item
 * @param {boolean} newest  an answer to the new words can be had at once
 */
export function editMessage({ host, texts, api }, conversation, item, newest) {
  const { dialog, body } = openDialog(host, texts.t("edit_title"), texts, "edit-dialog");
  const words = ownWords(item);
  const box = h("textarea", { rows: "4", dir: "auto", required: true, "aria-label": texts.t("message"), "data-cm": "edit-input" }, words);
  const again = h("input", { type: "checkbox", checked: true, "data-cm": "edit-again" });
  const problem = h("p", { class: "cm-note", role: "alert", hidden: true });
  const save = h("button", { type: "submit", class: "cm-strong", "data-cm": "edit-save" }, texts.t("save"));
  const cancel = h("button", { type: "button", class: "cm-quiet", onclick: () => dialog.close() }, texts.t("cancel"));
  const choice = newest && h("label", { class: "cm-choice" }, again, h("span", {}, texts.t("edit_again")));
  const form = h("form", {}, box, choice, problem, h("div", { class: "cm-actions" }, save, cancel));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (box.value.trim() === "") return;
    save.disabled = true;
    try {
      if (box.value !== words) await api.editMessage(conversation, item.id, box.value);
      if (newest && again.checked) await api.answerAgain(conversation);
      dialog.close();
    } catch (error) {
      problem.hidden = false;
      problem.textContent = problemWords(texts, error);
      save.disabled = false;
    }
  });
  body.append(form);
  box.focus();
}

/**
 * Why something that needs the server did not work.
 * @param {Texts} texts
 * @param {unknown} error
 * @param {string} [otherwise]  key of what to say without the server's own words
 * @returns {string}
 */
export function problemWords(texts, error, otherwise = "did_not_work") {
  if (error instanceof ApiError && error.offline && otherwise === "did_not_work") return texts.t("needs_network");
  return (error instanceof ApiError && error.detail) || texts.t(otherwise);
}
