import assert from "node:assert/strict";
import { test } from "node:test";

import {
  applyBatch,
  applyDelta,
  applyPartial,
  canonical,
  codePoints,
  cursor,
  fold,
  initial,
  mergeFeed,
  reduce,
} from "../../crossmemory/static/crossmemory/reducer.js";

/** One conversation that uses every event type of version 1. */
const SCRIPT = [
  ["conversation.created", { agent: "default", surface: "web", title: "Trip", created_at: "2026-11-30T10:00:00Z" }],
  ["message.completed", { message: "u1", role: "user", text: "ok", html: null }, { client_id: "c1" }],
  ["run.queued", { trigger: 2 }, { run: "r1" }],
  ["run.started", { attempt: 1 }, { run: "r1" }],
  ["message.started", { message: "a1", role: "assistant", saw: { count: 2, elsewhere: [], left_out: 0, missing: false } }, { run: "r1" }],
  ["tool.called", { tool_call: "t1", name: "send" }, { run: "r1" }],
  ["approval.requested", { tool_call: "t1" }, { run: "r1" }],
  ["approval.decided", { tool_call: "t1", decision: "approved" }, { run: "r1" }],
  ["tool.completed", { tool_call: "t1" }, { run: "r1" }],
  ["tool.failed", { tool_call: "t2" }, { run: "r1" }],
  ["message.completed", { message: "u2", role: "user", text: "ok", html: null }, { client_id: "c2" }],
  ["steer.accepted", { message: "u2" }, { run: "r1" }],
  ["steer.consumed", { message: "u2" }, { run: "r1" }],
  ["steer.promoted", { message: "u2" }],
  ["steer.expired", { message: "u2" }],
  ["run.queued", { trigger: 11 }, { run: "r2" }],
  ["message.completed", { message: "a1", role: "assistant", text: "Hi 🙂", html: "<p>Hi 🙂</p>", saw: null }, { run: "r1" }],
  ["run.completed", { message: "a1" }, { run: "r1" }],
  ["delivery.failed", { message: "a1", surface: "telegram", error: "blocked" }],
  ["conversation.renamed", { title: "Chios" }],
  ["message.edited", { message: "u1", text: "fine", parts: [{ type: "photo", words: "photo" }] }],
  ["message.edited", { message: "u1", text: "okay" }],
  ["message.redacted", { message: "u2" }],
  ["memory.boundary", {}],
  ["takeover.started", {}],
  ["takeover.ended", {}],
  ["run.started", { attempt: 1 }, { run: "r2" }],
  ["message.started", { message: "a2", role: "assistant", saw: null }, { run: "r2" }],
  ["message.interrupted", { message: "a2", text: "I was", html: "<p>I was</p>", reason: "stopped" }, { run: "r2" }],
  ["run.stopped", { by: "7" }, { run: "r2" }],
  ["run.queued", {}, { run: "r3" }],
  ["run.started", {}, { run: "r3" }],
  ["run.failed", { code: "provider", detail: "no answer" }, { run: "r3" }],
  ["run.queued", {}, { run: "r4" }],
  ["run.started", {}, { run: "r4" }],
  ["message.started", { message: "a4", role: "assistant", saw: null }, { run: "r4" }],
  ["run.abandoned", {}, { run: "r4" }],
  ["something.new", { whatever: true }],
];

const LOG = SCRIPT.map(([type, data, extra], index) => ({
  seq: index + 1,
  type,
  v: 1,
  at: `2026-11-30T10:00:${String(index).padStart(2, "0")}.000000Z`,
  actor: { type: "user", id: "7" },
  surface: "web",
  run: null,
  client_id: null,
  data,
  ...extra,
}));

function batch(events, more = {}) {
  const head = events.at(-1)?.seq ?? 0;
  return {
    type: "structured_replay",
    epoch: "e1",
    replay_id: "p1",
    mode: "full",
    reset: true,
    batch: 0,
    last: true,
    head,
    floor: 1,
    gap: null,
    events,
    ...more,
  };
}

const message = (state, id) => state.items.find((item) => item.id === id);

test("every event type: the state after a reload equals the state that was live", () => {
  let live = applyBatch(initial("c"), batch([]));
  for (const event of LOG) {
    live = reduce(live, event);
    const reloaded = applyBatch(initial("c"), batch(LOG.slice(0, event.seq)));
    assert.equal(canonical(reloaded), canonical(live), event.type);
    assert.equal(canonical(applyBatch(live, batch(LOG.slice(0, event.seq)))), canonical(live), `reset at ${event.type}`);
  }
});

test("a resume from anywhere ends where the whole replay ends", () => {
  const whole = fold({ ...initial("c"), epoch: "e1" }, LOG);
  for (let cut = 0; cut <= LOG.length; cut += 1) {
    const held = fold({ ...initial("c"), epoch: "e1" }, LOG.slice(0, cut));
    const resumed = applyBatch(held, batch(LOG.slice(cut), { mode: "resume", reset: false, head: LOG.length }));
    assert.equal(canonical(resumed), canonical(whole), `cut at ${cut}`);
  }
});

test("an event that was taken already changes nothing", () => {
  const once = fold(initial("c"), LOG);
  assert.equal(fold(once, LOG), once);
});

test("an unknown type moves the cursor and nothing else", () => {
  const before = fold({ ...initial("c"), epoch: "e1" }, LOG.slice(0, 5));
  const after = reduce(before, { seq: 6, type: "constructor" });
  assert.equal(cursor(after), "e1:6");
  assert.deepEqual(after.items, before.items);
});

test("the state given is never changed", () => {
  const before = fold(initial("c"), LOG.slice(0, 5));
  const copy = structuredClone(before);
  fold(before, LOG);
  assert.deepEqual(before, copy);
});

test("messages carry what happened to them", () => {
  const state = fold(initial("c"), LOG);
  assert.equal(state.title, "Chios");
  assert.equal(message(state, "u1").text, "okay");
  assert.equal(message(state, "u1").edited, true);
  assert.deepEqual(message(state, "u1").parts, [{ type: "photo", words: "photo" }], "an edit keeps what it does not name");
  assert.deepEqual([message(state, "u2").status, message(state, "u2").text], ["redacted", ""]);
  assert.equal(message(state, "a1").html, "<p>Hi 🙂</p>");
  assert.equal(message(state, "a1").length, 4);
  assert.equal(message(state, "a1").saw.count, 2, "what was seen is told when writing starts");
  assert.deepEqual(message(state, "a1").undelivered, { surface: "telegram", error: "blocked" });
  assert.equal(message(state, "a2").reason, "stopped");
  assert.equal(message(state, "a4").reason, "abandoned", "a dead run leaves nothing being written");
});

test("an answer stands where it began, before what was said while it was written", () => {
  const ids = fold(initial("c"), LOG).items.filter((item) => item.kind === "message").map((item) => item.id);
  assert.deepEqual(ids, ["u1", "a1", "u2", "a2", "a4"]);
});

test("the run state follows the log", () => {
  const at = (seq) => fold(initial("c"), LOG.slice(0, seq)).run;
  assert.deepEqual([3, 4, 7, 8, 16, 18, 27, 30, 33, 34].map(at), [
    "queued",
    "running",
    "awaiting_approval",
    "running",
    "running",
    "queued",
    "running",
    "idle",
    "failed",
    "queued",
  ]);
});

test("the run state of the envelope is taken as it is", () => {
  const running = applyBatch(initial("c"), batch(LOG.slice(0, 2), { run: "running" }));
  assert.equal(running.run, "running");
  assert.equal(reduce(running, { seq: 3, type: "run.completed", run: "unknown", data: {} }).run, "idle");
  assert.equal(applyBatch(initial("c"), batch(LOG.slice(0, 4), { run: "idle" })).run, "idle");
});

test("delta offsets count code points", () => {
  let state = fold(initial("c"), LOG.slice(0, 5));
  const take = (offset, text) => {
    const result = applyDelta(state, { message: "a1", offset, text });
    state = result.state;
    return result.missing;
  };
  assert.equal(take(0, "a🙂"), null);
  assert.equal(take(2, "é"), null);
  assert.equal(message(state, "a1").text, "a🙂é");
  assert.equal(take(1, "🙂é"), null, "what is held already is ignored");
  assert.equal(message(state, "a1").text, "a🙂é");
  assert.deepEqual(take(5, "late"), { message: "a1", from: 3 }, "larger asks");
  assert.equal(take(9, "x")?.from, 3);
  assert.equal(codePoints("👩‍💻"), 3);
  assert.equal(codePoints("\ud83d"), 1, "a lone surrogate counts once");
});

test("a delta that overlaps adds what goes beyond", () => {
  const state = fold(initial("c"), LOG.slice(0, 5));
  const held = applyDelta(state, { message: "a1", offset: 0, text: "🙂 hel" }).state;
  const grown = applyDelta(held, { message: "a1", offset: 2, text: "hello 🙂" });
  assert.equal(grown.missing, null);
  assert.deepEqual([message(grown.state, "a1").text, message(grown.state, "a1").length], ["🙂 hello 🙂", 9]);
});

test("a partial text fills what was missed, and never shortens", () => {
  let state = fold(initial("c"), LOG.slice(0, 5));
  state = applyPartial(state, { message: "a1", text: "🙂 hello" });
  assert.equal(message(state, "a1").length, 7);
  assert.equal(applyPartial(state, { message: "a1", text: "🙂" }), state);
  state = applyPartial(state, { message: "a1", offset: 2, text: "hello there" });
  assert.equal(message(state, "a1").text, "🙂 hello there");
  assert.equal(applyPartial(state, { message: "nobody", text: "x" }), state);
});

test("a delta for a finished or unknown message is ignored", () => {
  const state = fold(initial("c"), LOG);
  assert.equal(applyDelta(state, { message: "a1", offset: 99, text: "x" }).missing, null);
  assert.equal(applyDelta(state, { message: "nobody", offset: 0, text: "x" }).state, state);
});

test("partials arrive with the last batch and the completed text replaces them", () => {
  let state = applyBatch(initial("c"), batch(LOG.slice(0, 5), { run: "running", partials: [{ message: "a1", text: "so far" }] }));
  assert.equal(message(state, "a1").text, "so far");
  state = fold(state, LOG.slice(5));
  assert.equal(message(state, "a1").text, "Hi 🙂");
});

test("a gap is remembered until the feed has filled it", () => {
  const kept = [LOG[0], ...LOG.slice(16)];
  let state = applyBatch(initial("c"), batch(kept, { floor: 17, truncated: true, gap: { from: 2, to: 16, reason: "count" } }));
  assert.deepEqual(state.gap, { from: 2, to: 16, reason: "count" });
  assert.equal(state.before, 17);
  const old = { id: "u1", seq: 2, role: "user", text: "ok", html: null, status: "complete", client_id: "c1", at: null };
  const known = { ...old, id: "a1", seq: 5, role: "assistant" };
  state = mergeFeed(state, { messages: [old, known], before: 2 });
  assert.equal(state.before, 2);
  assert.notEqual(state.gap, null);
  assert.equal(state.items.filter((item) => item.id === "a1").length, 1, "what the log told is not doubled");
  assert.equal(state.items[0].id, "u1");
  state = mergeFeed(state, { messages: [], before: null });
  assert.deepEqual([state.gap, state.before], [null, null]);
  assert.equal(cursor(state), `e1:${LOG.length}`);
});

test("reset clears what was held", () => {
  const held = fold({ ...initial("c"), epoch: "old" }, LOG);
  const state = applyBatch(held, batch(LOG.slice(0, 2), { epoch: "new" }));
  assert.deepEqual([state.epoch, state.seq, state.items.length], ["new", 2, 1]);
});

test("events without data are survived", () => {
  for (const { type } of LOG) reduce(initial("c"), { seq: 1, type });
});
