/**
 * A tool call in the timeline: one quiet line, or a card while the assistant asks for permission.
 *
 * @import {Actor, ToolItem, Verdict} from "./types.js"
 * @import {MessageTools} from "./message.js"
 * @import {Texts} from "./texts.js"
 */

import { h } from "./dom.js";
import { chip } from "./saw.js";
import { isolate } from "./texts.js";

/** Characters of JSON that stand on one line. */
const SHORT = 60;

/**
 * @typedef {object} Asking
 * @property {boolean} armed  this page may answer now
 * @property {Verdict | null} verdict  what became of its own answer
 * @property {boolean} online
 * @property {boolean} working  the run that called the tool is under way
 */

/**
 * @param {ToolItem} item
 * @param {MessageTools} tools
 * @param {Asking} asking
 * @returns {HTMLElement}
 */
export function toolElement(item, tools, asking) {
  return item.approval ? approvalCard(item, tools, asking) : activityLine(item, tools.texts, asking.working);
}

/**
 * "Used calendar": opens on a tap to show with what.
 * @param {ToolItem} item
 * @param {Texts} texts
 * @param {boolean} working
 */
function activityLine(item, texts, working) {
  const attributes = { "data-cm": "tool", "data-id": item.id, "data-status": item.status };
  const words = activity(item, texts, working);
  if (isEmpty(item.arguments) && !item.error) return h("p", { class: "cm-activity", ...attributes }, words);
  return h(
    "details",
    { class: "cm-fold cm-activity", ...attributes },
    h("summary", {}, words),
    h("div", { class: "cm-fold-body" }, item.error && h("p", { class: "cm-detail", dir: "auto" }, item.error), argumentList(item.arguments)),
  );
}

/**
 * @param {ToolItem} item
 * @param {Texts} texts
 * @param {boolean} working
 */
function activity(item, texts, working) {
  const name = isolate(item.name);
  if (item.status === "completed") return texts.t("tool_completed", { name });
  if (item.status === "failed") return texts.t("tool_failed", { name });
  return texts.t(working ? "tool_called" : "tool_unfinished", { name });
}

/**
 * @param {ToolItem} item
 * @param {MessageTools} tools
 * @param {Asking} asking
 */
function approvalCard(item, tools, asking) {
  const { texts } = tools;
  const { decision, expires_at } = /** @type {NonNullable<ToolItem["approval"]>} */ (item.approval);
  const title = `cm-approval-${item.id}`;
  const open = decision === null && asking.armed;
  return h(
    "article",
    { class: "cm-card", "aria-labelledby": title, "data-cm": "approval", "data-id": item.id, "data-state": decision ?? (open ? "open" : "closed") },
    h("h3", { id: title, dir: "auto" }, item.title || texts.t("approval_title", { name: isolate(item.name) })),
    item.title && h("p", { class: "cm-soft" }, h("bdi", {}, item.name)),
    decision === null ? argumentList(item.arguments) : foldedArguments(item.arguments, texts),
    decision === null ? question(item, tools, asking, expires_at) : decided(item, tools, asking),
    verdictNote(asking.verdict, tools, decision !== null),
  );
}

/**
 * @param {ToolItem} item
 * @param {MessageTools} tools
 * @param {Asking} asking
 * @param {string | null} expires
 */
function question(item, tools, { armed, verdict, online }, expires) {
  const { texts } = tools;
  const sending = verdict?.state === "sending";
  if (!armed || (verdict?.state === "refused" && verdict.code !== "hash")) {
    if (verdict && !sending) return null;
    return h("p", { class: "cm-soft", "data-cm": "approval-closed" }, texts.t(online ? "approval_closed" : "approval_offline"));
  }
  /**
   * @param {string} name
   * @param {string} style
   * @param {"approved" | "denied"} decision
   * @param {string} word
   */
  const button = (name, style, decision, word) =>
    h("button", { type: "button", class: style, disabled: sending, "data-cm": name, onclick: () => tools.onDecide(item.id, decision) }, word);
  return h(
    "div",
    { class: "cm-question-end" },
    h("div", { class: "cm-actions" }, button("approve", "cm-strong", "approved", texts.t("approve")), button("deny", "cm-quiet", "denied", texts.t("not_now"))),
    h("p", { class: "cm-meta" }, sending ? texts.t("approval_sending") : expires && texts.t("approval_until", { time: texts.when(expires) })),
  );
}

/**
 * @param {ToolItem} item
 * @param {MessageTools} tools
 * @param {Asking} asking
 */
function decided(item, tools, { working }) {
  const { texts } = tools;
  const { decision, by, where, at } = /** @type {NonNullable<ToolItem["approval"]>} */ (item.approval);
  return h(
    "footer",
    { class: "cm-meta", "data-cm": "decided" },
    h("strong", {}, texts.t(`decided_${decision}`)),
    ...whoAndWhere({ by: decision === "approved" || decision === "denied" ? by : null, where, at }, tools),
    decision === "approved" && h("span", { "data-cm": "tool", "data-status": item.status }, activity(item, texts, working)),
    item.error && h("bdi", { class: "cm-detail" }, item.error),
  );
}

/**
 * @param {{by?: Actor | string | null | undefined, where?: string | null | undefined, at?: string | null | undefined}} told
 * @param {MessageTools} tools
 */
function whoAndWhere({ by, where, at }, { texts, labelOf }) {
  const type = typeof by === "string" ? by : by?.type;
  return [
    type === "user" && h("span", {}, texts.t("you")),
    type === "staff" && h("span", {}, texts.t("staff")),
    where && chip(labelOf(where), where),
    at && h("time", { datetime: at }, texts.when(at)),
  ];
}

/**
 * @param {Verdict | null} verdict
 * @param {MessageTools} tools
 * @param {boolean} told  the card says already how it was decided
 */
function verdictNote(verdict, tools, told) {
  const { texts } = tools;
  if (verdict === null || verdict.state === "sending") return null;
  if (verdict.state === "refused") {
    const words = verdict.code === "hash" ? texts.t("approval_changed") : verdict.detail || texts.t("did_not_work");
    return h("p", { class: "cm-note", "data-cm": "approval-note" }, words);
  }
  const words = verdict.decision && !told ? [h("strong", {}, texts.t(`decided_${verdict.decision}`)), ...whoAndWhere(verdict, tools)] : [];
  return h("p", { class: "cm-note cm-meta", "data-cm": "approval-note" }, h("span", {}, texts.t("approval_late")), ...words);
}

/**
 * What a tool is called with, for people: names and values; what is nested, as JSON.
 * @param {unknown} given
 * @returns {HTMLElement | null}
 */
function argumentList(given) {
  if (isEmpty(given)) return null;
  if (typeof given !== "object" || Array.isArray(given)) return h("div", { class: "cm-arguments" }, value(given));
  return h(
    "dl",
    { class: "cm-arguments", "data-cm": "arguments" },
    Object.entries(/** @type {object} */ (given)).flatMap(([name, one]) => [h("dt", {}, h("bdi", {}, name)), h("dd", {}, value(one))]),
  );
}

/**
 * @param {unknown} given
 * @param {Texts} texts
 */
function foldedArguments(given, texts) {
  const list = argumentList(given);
  return list && h("details", { class: "cm-fold" }, h("summary", {}, texts.t("details")), h("div", { class: "cm-fold-body" }, list));
}

/** @param {unknown} one */
function value(one) {
  if (one === null || typeof one !== "object") return h("span", { class: "cm-text", dir: "auto" }, String(one ?? "–"));
  const short = JSON.stringify(one);
  return h("pre", { dir: "ltr", tabindex: "0" }, short.length <= SHORT ? short : JSON.stringify(one, null, 2));
}

/** @param {unknown} given */
function isEmpty(given) {
  return given === null || given === undefined || given === "" || (typeof given === "object" && Object.keys(given).length === 0);
}
