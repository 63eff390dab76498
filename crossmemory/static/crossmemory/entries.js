/**
 * What the timeline shows, as keyed entries: days, messages, tool calls, notices, and below them what waits.
 *
 * @import {Context, Elsewhere, Item, MessageItem, ToolItem} from "./types.js"
 * @import {Entry} from "./dom.js"
 * @import {MessageTools} from "./message.js"
 * @import {Session} from "./session.js"
 */

import { h } from "./dom.js";
import { lastWritten } from "./elsewhere.js";
import { growMessage, messageElement, noticeElement } from "./message.js";
import { pendingElement } from "./pending.js";
import { elsewhereLine } from "./saw.js";
import { toolElement } from "./tool.js";

const BAD_END = /^run\.(stopped|abandoned|failed)$/;

/** @typedef {{elsewhere: Elsewhere, load: () => Promise<Context>}} News */

/**
 * A run that ended badly says so once: by its message when that has text, else by a notice.
 * @param {Item} item
 * @param {readonly Item[]} items
 * @returns {boolean} true when another entry tells it
 */
export function isToldBy(item, items) {
  if (item.kind === "tool") return false;
  if (item.kind === "message") {
    if (item.status !== "interrupted" || item.text !== "") return false;
    return items.some((other) => other.kind === "notice" && other.run === item.run && BAD_END.test(other.type));
  }
  if (!item.run || !BAD_END.test(item.type) || (item.type === "run.failed" && item.data["detail"])) return false;
  return items.some((other) => other.kind === "message" && other.run === item.run && other.status === "interrupted" && other.text !== "");
}

/**
 * @param {readonly Item[]} items
 * @param {Session} session
 * @param {MessageTools} tools
 * @param {number | null} unreadFrom
 * @returns {Entry[]}
 */
export function logEntries(items, session, tools, unreadFrom) {
  /** @type {Entry[]} */
  const entries = [];
  let day = "";
  let told = "";
  const end = canAskAgain(session, tools) ? items.at(-1) : undefined;
  for (const item of items) {
    const last = item === end;
    const key = tools.texts.dayKey(item.at);
    if (key && key !== day) {
      day = key;
      const name = tools.texts.dayName(/** @type {string} */ (item.at));
      entries.push({ key: `day-${key}-${item.key}`, same: [name], make: () => h("div", { class: "cm-day", "data-day": key }, name) });
    }
    if (item.seq === unreadFrom) {
      entries.push({ key: "unread", same: [], make: () => h("div", { class: "cm-unread", "data-cm": "unread" }, tools.texts.t("new_messages")) });
    }
    if (item.kind === "notice") {
      entries.push({ key: item.key, same: [item, last], make: () => noticeElement(item, tools, last) });
      continue;
    }
    if (item.kind === "tool") {
      entries.push(toolEntry(item, session, tools));
      continue;
    }
    const elsewhere = JSON.stringify(item.saw?.elsewhere ?? []);
    const fresh = item.saw !== null && elsewhere !== told;
    if (item.saw) told = elsewhere;
    entries.push(messageEntry(item, tools, { fresh, last }));
  }
  return entries;
}

/**
 * What stands below the ordered list: news from elsewhere, unconfirmed bubbles, a run at work.
 * @param {Session} session
 * @param {MessageTools} tools
 * @param {readonly News[]} now
 * @returns {Entry[]}
 */
export function tailEntries(session, tools, now) {
  const { texts } = tools;
  const { items, run } = session.view;
  const after = lastWritten(items);
  const pending = session.queue.items;
  const online = session.link === "online";
  /** @type {Entry[]} */
  const entries = [];
  if (session.complete && pending.length === 0 && run !== "running" && run !== "queued") {
    for (const { elsewhere, load } of now) {
      if ((elsewhere.since ?? "") <= after) continue;
      const key = `now-${elsewhere.surface}`;
      entries.push({ key, same: [elsewhere], make: () => elsewhereLine(elsewhere, texts, load) });
    }
  }
  for (const item of pending) {
    entries.push({ key: item.client_id, same: [item, online], make: () => pendingElement(item, tools, online) });
  }
  const writing = items.some((item) => item.kind === "message" && item.status === "writing");
  if (session.complete && !writing && (run === "running" || run === "queued" || run === "awaiting_approval")) {
    const word = texts.t(`run_${run}`);
    entries.push({
      key: "thinking",
      same: [word],
      make: () => h("p", { class: "cm-thinking", "data-cm": "thinking", role: "status" }, h("span", { class: "cm-dots", "aria-hidden": "true" }), word),
    });
  }
  return entries;
}

/**
 * @param {ToolItem} item
 * @param {Session} session
 * @param {MessageTools} tools
 * @returns {Entry}
 */
function toolEntry(item, session, tools) {
  const { run, active } = session.view;
  const asking = {
    armed: session.permits.isArmed(item),
    verdict: session.permits.verdict(item.id),
    online: session.link === "online",
    // "?" is a run known only from the envelope.
    working: (run === "running" || run === "awaiting_approval") && (active === item.run || active === "?"),
  };
  return { key: item.key, same: [item, ...Object.values(asking)], make: () => toolElement(item, tools, asking) };
}

/**
 * @param {MessageItem} item
 * @param {MessageTools} tools
 * @param {import("./message.js").Place} place
 * @returns {Entry}
 */
function messageEntry(item, tools, place) {
  const { fresh, last } = place;
  return {
    key: item.key,
    same: [item, fresh, last],
    make: () => messageElement(item, tools, place),
    update: (element, [old, wasFresh, wasLast]) =>
      wasFresh === fresh && wasLast === last && growMessage(element, item, /** @type {MessageItem} */ (old)),
  };
}

/**
 * @param {Session} session
 * @param {MessageTools} tools
 */
function canAskAgain(session, tools) {
  const { run } = session.view;
  return session.complete && !tools.readOnly && session.queue.items.length === 0 && (run === "idle" || run === "failed");
}
