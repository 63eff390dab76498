/**
 * The fold of a conversation's log: `state = reduce(state, event)`, pure, the same for replay and live.
 *
 * Unknown event types change nothing but the cursor. An event at or below the cursor changes nothing at
 * all, so a replay may overlap. Items are replaced, never changed in place: a renderer compares by identity.
 *
 * @import {Batch, Delta, FeedMessage, LogEvent, MessageItem, Partial, State} from "./types.js"
 * @import {Draft} from "./items.js"
 */

import { adoptRun, HANDLERS } from "./events.js";
import { codePoints, findMessage, fromFeed, replaced } from "./items.js";

export { codePoints } from "./items.js";

/** Raised when the shape of State changes, so that an older local copy is not used. */
export const STATE_VERSION = 3;

/**
 * The state before anything of the log is known.
 * @param {string} conversation
 * @returns {State}
 */
export function initial(conversation) {
  return {
    version: STATE_VERSION,
    conversation,
    epoch: null,
    seq: 0,
    head: 0,
    floor: 1,
    title: "",
    agent: "",
    surface: "",
    created_at: null,
    items: [],
    run: "idle",
    active: null,
    queued: null,
    waiting: false,
    failed: false,
    pending: [],
    gap: null,
    before: null,
  };
}

/**
 * Where this client stands: `epoch:seq`, or null when it holds nothing.
 * @param {State} state
 * @returns {string | null}
 */
export function cursor(state) {
  return state.epoch !== null && state.seq > 0 ? `${state.epoch}:${state.seq}` : null;
}

/**
 * @param {State} state
 * @param {LogEvent} event
 * @returns {State}
 */
export function reduce(state, event) {
  return fold(state, [event]);
}

/**
 * `reduce` over many events with one copy of the list.
 * @param {State} state
 * @param {readonly LogEvent[]} events  ascending by seq
 * @returns {State}
 */
export function fold(state, events) {
  const fresh = events.filter((event) => event.seq > state.seq);
  if (fresh.length === 0) return state;
  /** @type {Draft} */
  const draft = { ...state, items: [...state.items] };
  for (const event of fresh) {
    if (event.seq <= draft.seq) continue;
    HANDLERS.get(event.type)?.(draft, event, event.data ?? {});
    draft.seq = event.seq;
    draft.head = Math.max(draft.head, event.seq);
  }
  return draft;
}

/**
 * Take one batch of the envelope. The caller has checked its number and `replay_id` (see connection.js).
 * @param {State} state
 * @param {Batch} batch
 * @returns {State}
 */
export function applyBatch(state, batch) {
  const base = batch.batch === 0 && batch.reset ? initial(state.conversation) : state;
  const next = { ...fold({ ...base, epoch: batch.epoch }, batch.events ?? []) };
  next.floor = batch.floor ?? next.floor;
  next.head = Math.max(batch.head ?? 0, next.seq);
  if (batch.gap && batch.mode === "full") {
    next.gap = batch.gap;
    next.before ??= batch.floor;
  }
  if (!batch.last) return next;
  next.pending = batch.pending ?? [];
  const adopted = batch.run ? adoptRun(next, batch.run) : next;
  return (batch.partials ?? []).reduce(applyPartial, adopted);
}

/**
 * Add streamed text: what of it goes beyond the text held. `missing` says from which code point to ask when a
 * piece was lost.
 * @param {State} state
 * @param {Delta} delta
 * @returns {{state: State, missing: {message: string, from: number} | null}}
 */
export function applyDelta(state, delta) {
  const at = findMessage(state.items, delta.message);
  const item = at < 0 ? null : /** @type {MessageItem} */ (state.items[at]);
  const length = delta.offset + codePoints(delta.text);
  if (!item || item.status !== "writing" || length <= item.length) return { state, missing: null };
  if (delta.offset > item.length) return { state, missing: { message: item.id, from: item.length } };
  const known = item.length - delta.offset;
  const beyond = known === 0 ? delta.text : [...delta.text].slice(known).join("");
  const grown = { ...item, text: item.text + beyond, length };
  return { state: { ...state, items: replaced(state.items, at, grown) }, missing: null };
}

/**
 * Take the text so far, as the last batch or an answer to `partial.get` brings it.
 * @param {State} state
 * @param {Partial} partial
 * @returns {State}
 */
export function applyPartial(state, partial) {
  const at = findMessage(state.items, partial.message);
  if (at < 0) return state;
  const item = /** @type {MessageItem} */ (state.items[at]);
  const offset = partial.offset ?? 0;
  const length = offset + codePoints(partial.text);
  if (item.status !== "writing" || offset > item.length || length <= item.length) return state;
  const text = [...item.text].slice(0, offset).join("") + partial.text;
  return { ...state, items: replaced(state.items, at, { ...item, text, length }) };
}

/**
 * Put a page of the message feed (older messages) in its place. What the log already told is not replaced.
 * @param {State} state
 * @param {{messages: FeedMessage[], before: number | null}} page
 * @returns {State}
 */
export function mergeFeed(state, page) {
  const known = new Set(state.items.map((item) => item.key));
  const older = page.messages.filter((message) => !known.has(message.id)).map(fromFeed);
  const items = [...older, ...state.items].sort((a, b) => a.seq - b.seq);
  return { ...state, items, before: page.before, gap: page.before === null ? null : state.gap };
}

/**
 * A text by which two clients can compare what they folded. Streamed text and feed bookkeeping are left
 * out: they are not in the log.
 * @param {State} state
 * @returns {string}
 */
export function canonical(state) {
  const { epoch, seq, title, agent, surface, run, items } = state;
  const told = items.map((item) =>
    item.kind === "message" && item.status === "writing" ? { ...item, text: "", length: 0 } : item,
  );
  return JSON.stringify({ epoch, seq, title, agent, surface, run, items: told });
}

