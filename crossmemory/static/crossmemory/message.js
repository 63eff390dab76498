/**
 * One entry of the timeline: a message, or a notice between messages.
 *
 * @import {Context, MessageItem, NoticeItem} from "./types.js"
 * @import {Choice} from "./menu.js"
 * @import {Texts} from "./texts.js"
 */

import { addCopyButtons, copyText } from "./copy.js";
import { h } from "./dom.js";
import { safeFragment } from "./html.js";
import { openMenu } from "./menu.js";
import { ownWords, partsElement } from "./parts.js";
import { chip, elsewhereLine, sawLine } from "./saw.js";
import { isolate } from "./texts.js";

/**
 * @typedef {object} MessageTools
 * @property {Texts} texts
 * @property {string} surface  of the conversation
 * @property {(alias: string) => string} labelOf
 * @property {(run: string) => Promise<Context>} loadRun
 * @property {(attachment: string) => string} fileAddress
 * @property {(clientId: string) => void} onRetry
 * @property {(clientId: string) => void} onDiscard
 * @property {(toolCall: string, decision: "approved" | "denied") => void} onDecide
 * @property {HTMLElement} host
 * @property {boolean} readOnly  the conversation belongs to another surface
 * @property {(item: MessageItem) => void} onEdit
 * @property {(item: MessageItem) => void} onDelete
 * @property {() => void} onAgain
 *
 * @typedef {object} Place  Where an entry stands among the others.
 * @property {boolean} fresh  say first what came from elsewhere: the answer before did not
 * @property {boolean} last  nothing stands below it and nothing is at work: it can be answered again
 */

/**
 * @param {MessageItem} item
 * @param {MessageTools} tools
 * @param {Place} place
 * @returns {HTMLElement}
 */
export function messageElement(item, tools, place) {
  const mine = item.role === "user";
  const { run, saw } = item;
  const before = place.fresh && run ? (saw?.elsewhere ?? []) : [];
  const load = () => tools.loadRun(/** @type {string} */ (run));
  const { texts } = tools;
  return h(
    "article",
    {
      class: mine ? "cm-message cm-mine" : "cm-message cm-answer",
      "data-cm": "message",
      "data-id": item.id,
      "data-seq": item.seq,
      "data-role": item.role,
      "data-status": item.status,
    },
    before.map((entry) => elsewhereLine(entry, texts, load)),
    h("span", { class: "cm-hidden" }, texts.t(mine ? "you_said" : "assistant_said")),
    partsElement(item.parts, tools.fileAddress, texts),
    body(item, texts),
    ...notes(item, tools),
    place.last && item.status === "interrupted" && againButton(tools),
    meta(item, tools, place),
    // A run whose context could not be read has nothing to show; the note above says so.
    saw && run && saw.count !== undefined && item.status !== "writing" && sawLine(saw, texts, load),
  );
}

/**
 * Streaming: put only the new end of the text into the element that is there.
 * @param {HTMLElement} element
 * @param {MessageItem} item
 * @param {MessageItem} old
 * @returns {boolean}
 */
export function growMessage(element, item, old) {
  if (item.status !== "writing" || old.status !== "writing" || !item.text.startsWith(old.text)) return false;
  const text = element.querySelector("[data-cm=text]");
  if (!text) return false;
  text.append(item.text.slice(old.text.length));
  return true;
}

/**
 * @param {MessageItem} item
 * @param {Texts} texts
 * @returns {HTMLElement | null} null for a message of files alone
 */
function body(item, texts) {
  if (item.status === "redacted") {
    return h("div", { class: "cm-body cm-soft", "data-cm": "text" }, texts.t("redacted"));
  }
  if (item.html !== null && item.role !== "user" && item.status !== "writing") {
    const rich = h("div", { class: "cm-body cm-rich", "data-cm": "text" });
    rich.append(safeFragment(item.html));
    addCopyButtons(rich, texts);
    return rich;
  }
  const words = ownWords(item);
  if (words === "" && item.parts !== null) return null;
  const text = h("div", { class: "cm-body cm-text", dir: "auto", "data-cm": "text" }, words);
  text.normalize();
  return text;
}

/**
 * @param {MessageItem} item
 * @param {MessageTools} tools
 */
function notes(item, tools) {
  const { texts } = tools;
  const lines = [];
  const stopped = item.status === "interrupted" && item.reason === "stopped";
  if (item.status === "interrupted" && !stopped) {
    const key = `interrupted_${item.reason ?? ""}`;
    lines.push(texts.t(key in texts.strings ? key : "interrupted"));
  }
  if (item.degraded || item.saw?.missing) lines.push(texts.t("degraded"));
  if (item.status === "refused") lines.push(texts.t("refused_by_model"));
  if (item.undelivered) {
    const label = isolate(tools.labelOf(item.undelivered.surface));
    lines.push(texts.t("undelivered", { label, error: isolate(item.undelivered.error) }));
  }
  const notes = lines.map((line) => h("p", { class: "cm-note", "data-cm": "note" }, line));
  // What the person did on purpose is told, not warned of.
  if (stopped) notes.unshift(h("p", { class: "cm-soft", "data-cm": "note" }, texts.t("interrupted_stopped")));
  return notes;
}

/** @param {MessageTools} tools */
function againButton({ texts, onAgain }) {
  return h("div", { class: "cm-actions" }, h("button", { type: "button", class: "cm-quiet", "data-cm": "again", onclick: () => onAgain() }, texts.t("again")));
}

/**
 * What can be done with a message. Put together when it is asked for.
 * @param {MessageItem} item
 * @param {MessageTools} tools
 * @param {Place} place
 */
function menuButton(item, tools, place) {
  const { texts } = tools;
  const button = h("button", { type: "button", class: "cm-more", "aria-label": texts.t("message_menu"), "aria-haspopup": "true", "aria-expanded": "false", "data-cm": "message-menu" }, "⋯");
  button.addEventListener("click", () => {
    const mine = item.role === "user" && item.actor?.type !== "staff" && !tools.readOnly;
    /** @type {(Choice | false)[]} */
    const choices = [
      item.text !== "" && { name: "copy-message", label: texts.t("copy"), act: () => void copyText(item.text) },
      mine && { name: "edit-message", label: texts.t("edit"), act: () => tools.onEdit(item) },
      place.last && item.role === "assistant" && { name: "answer-again", label: texts.t("again"), act: () => tools.onAgain() },
      { name: "delete-message", label: texts.t("delete"), act: () => tools.onDelete(item), danger: true },
    ];
    openMenu(tools.host, button, choices.filter((choice) => choice !== false));
  });
  return button;
}

/**
 * @param {MessageItem} item
 * @param {MessageTools} tools
 * @param {Place} place
 */
function meta(item, tools, place) {
  const { texts } = tools;
  if (item.status === "writing") {
    return h("footer", { class: "cm-meta", "data-cm": "meta" }, h("span", { class: "cm-dots", "aria-hidden": "true" }), texts.t("writing"));
  }
  const at = item.sent_at ?? item.at;
  /** @type {HTMLElement[]} */
  const parts = [h("time", { datetime: at ?? "" }, texts.time(at))];
  if (item.edited) parts.push(h("span", {}, texts.t("edited")));
  if (item.actor?.type === "staff") parts.push(h("span", {}, texts.t("staff")));
  if (item.surface && tools.surface && item.surface !== tools.surface) parts.push(chip(tools.labelOf(item.surface), item.surface));
  if (item.role === "user") parts.push(h("span", { "data-cm": "saved" }, texts.t("saved")));
  if (item.steer && item.steer !== "promoted") parts.push(h("span", { "data-cm": "steer", "data-state": item.steer }, texts.t(`steer_${item.steer}`)));
  if (item.status !== "redacted") parts.push(menuButton(item, tools, place));
  return h("footer", { class: "cm-meta", "data-cm": "meta" }, ...parts);
}

/**
 * @param {NoticeItem} item
 * @param {MessageTools} tools
 * @param {boolean} last
 * @returns {HTMLElement}
 */
export function noticeElement(item, tools, last) {
  const { texts } = tools;
  const bad = item.type === "run.failed" || item.type === "run.abandoned";
  const key = `notice_${item.type.replace(".", "_")}`;
  const detail = item.type === "run.failed" && item.data["detail"] ? String(item.data["detail"]) : "";
  const again = last && item.type.startsWith("run.");
  return h(
    "div",
    { class: bad ? "cm-note" : "cm-day", "data-cm": "notice", "data-type": item.type },
    h("span", {}, texts.t(key)),
    detail && h("bdi", { class: "cm-detail" }, detail),
    again && againButton(tools),
  );
}
