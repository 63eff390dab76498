/**
 * What each type of event does to the fold. See reducer.js for the fold itself.
 *
 * @import {LogEvent, MessageItem, NoticeItem, RunState, State} from "./types.js"
 * @import {Draft, Handler} from "./items.js"
 */

import { toolHandlers } from "./approvals.js";
import { blank, codePoints, findMessage } from "./items.js";

/** A run that is known to be active although its id is not. */
const SOME_RUN = "?";

/**
 * Change the message an event names, making it when the event is the first to name it.
 * @param {Draft} draft
 * @param {LogEvent} event
 * @param {Record<string, any>} data
 * @param {globalThis.Partial<MessageItem>} changes
 */
function put(draft, event, data, changes) {
  const at = findMessage(draft.items, data.message);
  const item = at < 0 ? blank(event, data) : /** @type {MessageItem} */ (draft.items[at]);
  const next = { ...item, ...changes };
  if (changes.text !== undefined) next.length = codePoints(changes.text);
  if (at < 0) draft.items.push(next);
  else draft.items[at] = next;
}

/**
 * Change a message that is here. One below the floor is left to the feed, which brings it as it is now.
 * @param {Draft} draft
 * @param {Record<string, any>} data
 * @param {globalThis.Partial<MessageItem>} changes
 */
function change(draft, data, changes) {
  const at = findMessage(draft.items, data.message);
  if (at < 0) return;
  const item = /** @type {MessageItem} */ (draft.items[at]);
  draft.items[at] = { ...item, ...changes, length: codePoints(changes.text ?? item.text) };
}

/** @type {Handler} */
function note(draft, event, data) {
  /** @type {NoticeItem} */
  const item = {
    kind: "notice",
    key: `notice-${event.seq}`,
    seq: event.seq,
    type: event.type,
    at: event.at ?? null,
    run: event.run ?? null,
    data,
  };
  draft.items.push(item);
}

/** @param {Draft} draft */
function nameRun(draft) {
  if (draft.active) draft.run = draft.waiting ? "awaiting_approval" : "running";
  else if (draft.queued) draft.run = "queued";
  else draft.run = draft.failed ? "failed" : "idle";
}

/**
 * @param {State} state
 * @param {import("./types.js").RunState} run  what the envelope says, taken as it is
 * @returns {State}
 */
export function adoptRun(state, run) {
  const busy = run === "running" || run === "awaiting_approval";
  return {
    ...state,
    run,
    active: busy ? (state.active ?? SOME_RUN) : null,
    queued: busy ? state.queued : run === "queued" ? (state.queued ?? SOME_RUN) : null,
    waiting: run === "awaiting_approval",
    failed: run === "failed",
  };
}

/**
 * @param {Draft} draft
 * @param {LogEvent} event
 * @param {boolean} failed
 */
function endRun(draft, event, failed) {
  const run = event.run ?? null;
  if (draft.active === run || draft.active === SOME_RUN) draft.active = null;
  else if (draft.queued === run || draft.queued === SOME_RUN) draft.queued = null;
  draft.waiting = false;
  draft.failed = failed;
  nameRun(draft);
}

/**
 * A run that ended badly leaves no message "being written".
 * @param {string} reason
 * @returns {Handler}
 */
function broken(reason) {
  return (draft, event, data) => {
    endRun(draft, event, reason === "failed");
    draft.items = draft.items.map((item) =>
      item.kind === "message" && item.status === "writing" && item.run === (event.run ?? null)
        ? { ...item, status: "interrupted", reason }
        : item,
    );
    note(draft, event, data);
  };
}

/**
 * A message said while the assistant is at work waits for it, and then ends in one of three ways.
 * @param {NonNullable<MessageItem["steer"]>} state
 * @returns {Handler}
 */
function steer(state) {
  return (draft, _event, data) => change(draft, data, { steer: state });
}

/** @type {Map<string, Handler>} */
export const HANDLERS = new Map(
  /** @type {[string, Handler][]} */ ([
    [
      "conversation.created",
      (draft, event, data) => {
        draft.title = data.title ?? "";
        draft.agent = data.agent ?? "";
        draft.surface = data.surface ?? event.surface ?? "";
        draft.created_at = data.created_at ?? event.at ?? null;
      },
    ],
    ["conversation.renamed", (draft, _event, data) => void (draft.title = data.title ?? draft.title)],
    [
      "message.started",
      (draft, event, data) => put(draft, event, data, { status: "writing", saw: data.saw ?? null }),
    ],
    [
      "message.completed",
      (draft, event, data) => {
        /** @type {globalThis.Partial<MessageItem>} */
        const changes = { status: "complete", text: data.text ?? "", html: data.html ?? null };
        changes.degraded = data.degraded === true;
        changes.at = event.at ?? null;
        changes.sent_at = data.sent_at ?? null;
        changes.parts = data.parts ?? null;
        if (data.role) changes.role = data.role;
        if (data.saw) changes.saw = data.saw;
        put(draft, event, data, changes);
      },
    ],
    [
      "message.interrupted",
      (draft, event, data) => {
        /** @type {globalThis.Partial<MessageItem>} */
        const changes = { status: "interrupted", html: data.html ?? null, reason: data.reason ?? null };
        if (typeof data.text === "string") changes.text = data.text;
        put(draft, event, data, changes);
      },
    ],
    [
      "message.redacted",
      (draft, _event, data) => change(draft, data, { status: "redacted", text: "", html: null, parts: null, saw: null }),
    ],
    [
      "message.edited",
      (draft, _event, data) => {
        /** @type {globalThis.Partial<MessageItem>} */
        const changes = { text: data.text ?? "", html: data.html ?? null, edited: true };
        if (Array.isArray(data.parts)) changes.parts = data.parts;
        change(draft, data, changes);
      },
    ],
    [
      "delivery.failed",
      (draft, _event, data) =>
        change(draft, data, { undelivered: { surface: data.surface ?? "", error: data.error ?? "" } }),
    ],
    ["memory.boundary", note],
    ["takeover.started", note],
    ["takeover.ended", note],
    [
      "run.queued",
      (draft, event) => {
        draft.queued = event.run ?? SOME_RUN;
        draft.failed = false;
        nameRun(draft);
      },
    ],
    [
      "run.started",
      (draft, event) => {
        draft.active = event.run ?? SOME_RUN;
        if (draft.queued === draft.active || draft.queued === SOME_RUN) draft.queued = null;
        draft.failed = false;
        draft.waiting = false;
        nameRun(draft);
      },
    ],
    ["run.completed", (draft, event) => endRun(draft, event, false)],
    ["run.failed", broken("failed")],
    ["run.stopped", broken("stopped")],
    ["run.abandoned", broken("abandoned")],
    ["steer.accepted", steer("waiting")],
    ["steer.consumed", steer("consumed")],
    ["steer.promoted", steer("promoted")],
    ["steer.expired", steer("expired")],
    ...toolHandlers(nameRun),
  ]),
);
