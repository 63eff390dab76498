/**
 * The entries of a folded conversation: making, finding and replacing them.
 *
 * @import {FeedMessage, Item, LogEvent, MessageItem, State} from "./types.js"
 */

/**
 * @typedef {Omit<State, "items"> & {items: Item[]}} Draft  A state that one fold may change.
 * @typedef {(draft: Draft, event: LogEvent, data: Record<string, any>) => void} Handler
 */

/**
 * Code points of a text: the unit of `delta.offset` (a JavaScript string counts UTF-16 units).
 * @param {string} text
 * @returns {number}
 */
export function codePoints(text) {
  let count = 0;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit <= 0xdbff && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) i += 1;
    count += 1;
  }
  return count;
}

/**
 * @param {readonly Item[]} items
 * @param {string} id
 * @returns {number} -1 when unknown; searched from the end, where the changes are
 */
export function findMessage(items, id) {
  for (let i = items.length - 1; i >= 0; i -= 1) {
    const item = items[i];
    if (item?.kind === "message" && item.id === id) return i;
  }
  return -1;
}

/**
 * @param {readonly Item[]} items
 * @param {number} at
 * @param {Item} item
 */
export function replaced(items, at, item) {
  const copy = [...items];
  copy[at] = item;
  return copy;
}

/**
 * @param {LogEvent} event
 * @param {Record<string, any>} data
 * @returns {MessageItem}
 */
export function blank(event, data) {
  const id = String(data.message);
  return {
    kind: "message",
    key: id,
    id,
    seq: event.seq,
    role: data.role ?? "assistant",
    text: "",
    length: 0,
    html: null,
    parts: data.parts ?? null,
    status: "complete",
    reason: null,
    actor: event.actor ?? null,
    surface: event.surface ?? null,
    client_id: event.client_id ?? null,
    run: event.run ?? null,
    saw: data.saw ?? null,
    degraded: false,
    edited: false,
    steer: null,
    undelivered: null,
    at: event.at ?? null,
    sent_at: data.sent_at ?? null,
  };
}

/**
 * @param {FeedMessage} message
 * @returns {MessageItem}
 */
export function fromFeed(message) {
  const { id, seq, role, client_id, run, saw, actor, surface, at, sent_at } = message;
  const text = message.text ?? "";
  return {
    ...blank({ seq, type: "", actor, surface, run, client_id, at: at ?? "" }, { message: id, role, saw, sent_at, parts: message.parts }),
    at: at ?? null,
    text,
    length: codePoints(text),
    html: message.html ?? null,
    status: message.status ?? "complete",
  };
}
