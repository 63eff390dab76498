/**
 * What the assistant saw, folded into one line that opens only on a tap: somebody may be looking on.
 *
 * @import {Context, ContextMessage, Elsewhere, Saw} from "./types.js"
 * @import {Texts} from "./texts.js"
 */

import { h } from "./dom.js";
import { isolate } from "./texts.js";

/**
 * @param {string} label
 * @param {string} surface
 * @returns {HTMLElement}
 */
export function chip(label, surface) {
  return h("span", { class: "cm-chip", "data-surface": surface }, h("bdi", {}, label));
}

/**
 * "Telegram · 1 message since 10:02": what was said elsewhere and is in play.
 * @param {Elsewhere} elsewhere
 * @param {Texts} texts
 * @param {() => Promise<Context>} load
 * @returns {HTMLElement}
 */
export function elsewhereLine(elsewhere, texts, load) {
  const { surface, label, count, since } = elsewhere;
  const words = since
    ? texts.n("elsewhere", count, { time: texts.when(since) })
    : texts.n("messages", count);
  return folded({ "data-cm": "elsewhere", "data-surface": surface }, [chip(label, surface), " ", words], texts, async () => {
    const context = await load();
    return messageList(context.messages.filter((message) => !message.own && message.surface === surface), texts);
  });
}

/**
 * "What the assistant saw: 6 messages, 1 from Telegram", under an answer.
 * @param {Saw} saw
 * @param {Texts} texts
 * @param {() => Promise<Context>} load
 * @returns {HTMLElement}
 */
export function sawLine(saw, texts, load) {
  const parts = [texts.n("messages", saw.count ?? 0)];
  for (const { label, count } of saw.elsewhere ?? []) parts.push(texts.t("from_surface", { count, label: isolate(label) }));
  const summary = texts.t("saw", { what: parts.join(", ") });
  return folded({ "data-cm": "saw" }, [summary], texts, async () => contextList(await load(), texts));
}

/**
 * @param {Context} context
 * @param {Texts} texts
 * @returns {HTMLElement}
 */
export function contextList(context, texts) {
  const left = context.left_out ?? [];
  return h(
    "div",
    {},
    context.messages.length > 0 ? messageList(context.messages, texts) : h("p", {}, texts.t("saw_nothing")),
    left.length > 0 && h("p", { class: "cm-soft" }, texts.n("left_out", left.length)),
    left.length > 0 &&
      h(
        "ul",
        { class: "cm-seen" },
        left.map((row) =>
          h(
            "li",
            { "data-cm": "left-out", "data-reason": row.reason },
            h("span", { class: "cm-soft" }, texts.t(`reason_${row.reason}` in texts.strings ? `reason_${row.reason}` : row.reason)),
            row.text && h("span", { class: "cm-text", dir: "auto" }, row.text),
          ),
        ),
      ),
    context.more && h("p", { class: "cm-soft", "data-cm": "more" }, texts.t("left_out_more")),
  );
}

/**
 * @param {ContextMessage[]} messages
 * @param {Texts} texts
 */
function messageList(messages, texts) {
  return h(
    "ul",
    { class: "cm-seen" },
    messages.map((message) =>
      h(
        "li",
        { "data-cm": "seen", "data-role": message.role, "data-surface": message.surface },
        h(
          "span",
          { class: "cm-soft" },
          chip(message.surface_label || message.surface, message.surface),
          ` ${texts.when(message.at)} · ${texts.t(message.role === "user" ? "you" : "assistant")}`,
        ),
        h("span", { class: "cm-text", dir: "auto" }, message.text),
      ),
    ),
  );
}

/**
 * @param {Record<string, string>} attributes
 * @param {(Node | string)[]} summary
 * @param {Texts} texts
 * @param {() => Promise<Node>} load  asked for at the first opening, and again after a failure
 */
export function folded(attributes, summary, texts, load) {
  const body = h("div", { class: "cm-fold-body" });
  let loaded = false;
  const details = h("details", { class: "cm-fold", ...attributes }, h("summary", {}, ...summary), body);
  details.addEventListener("toggle", async () => {
    if (!details.open || loaded) return;
    loaded = true;
    body.replaceChildren(h("p", { class: "cm-soft" }, texts.t("loading")));
    try {
      body.replaceChildren(await load());
    } catch {
      loaded = false;
      body.replaceChildren(h("p", { class: "cm-soft" }, texts.t("not_loaded")));
    }
  });
  return details;
}
