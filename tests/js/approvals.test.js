import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { applyBatch, canonical, fold, initial, reduce } from "../../crossmemory/static/crossmemory/reducer.js";
import { FakeSocket, open, replay } from "./support/session.js";

const event = (seq, type, data, more = {}) => ({ seq, type, v: 1, at: `2026-11-30T10:00:0${seq}Z`, actor: { type: "agent" }, run: "r1", data, ...more });

const ASKED = [
  event(1, "run.started", {}),
  event(2, "tool.called", { tool_call: "t1", name: "send_email", arguments: { to: "ana@example.org" } }),
  event(3, "approval.requested", { tool_call: "t1", name: "send_email", title: "Send the booking?", arguments: { to: "ana@example.org" }, args_hash: "h1", expires_at: "2026-11-30T11:00:00Z" }),
];
const decided = (decision, more = {}) => event(4, "approval.decided", { tool_call: "t1", decision, where: "telegram" }, { actor: { type: "user", id: "7" }, ...more });
const OPEN = [{ type: "approval", tool_call: "t1", name: "send_email", args_hash: "h1" }];

const tool = (state) => state.items.find((item) => item.kind === "tool");

beforeEach(() => {
  FakeSocket.all = [];
  mock.timers.enable({ apis: ["setTimeout"] });
});
afterEach(() => mock.timers.reset());

test("asked, decided and done are one entry, with who and where", () => {
  let state = fold(initial("c"), ASKED);
  assert.equal(state.run, "awaiting_approval");
  assert.deepEqual([tool(state).title, tool(state).approval.decision, tool(state).approval.args_hash], ["Send the booking?", null, "h1"]);
  state = fold(state, [decided("approved"), event(5, "tool.completed", { tool_call: "t1", result: "ok" })]);
  assert.equal(state.items.length, 1);
  assert.equal(state.run, "running");
  const { approval, status } = tool(state);
  assert.deepEqual([approval.decision, approval.by.id, approval.where, status], ["approved", "7", "telegram", "completed"]);
  assert.equal(canonical(applyBatch(initial("c"), replay([...ASKED, decided("approved")]))).includes('"approved"'), true);
});

test("a run waits as long as one permission is open", () => {
  const second = event(4, "approval.requested", { tool_call: "t2", name: "pay", args_hash: "h2", expires_at: "2026-11-30T11:00:00Z" });
  let state = fold(initial("c"), [...ASKED, second]);
  state = reduce(state, event(5, "approval.decided", { tool_call: "t1", decision: "denied" }));
  assert.equal(state.run, "awaiting_approval");
  assert.equal(reduce(state, event(6, "approval.decided", { tool_call: "t2", decision: "expired" })).run, "running");
});

test("a call below the floor has nothing to show", () => {
  const state = fold(initial("c"), [event(1, "tool.completed", { tool_call: "t9" }), event(2, "approval.decided", { tool_call: "t9", decision: "denied" })]);
  assert.deepEqual(state.items, []);
});

test("a replayed request is armed only when pending names it", async () => {
  const { session } = await open();
  FakeSocket.last.say(replay(ASKED, { run: "running" }));
  assert.equal(session.permits.isArmed(tool(session.view)), false);
  session.decide("t1", "approved");
  assert.deepEqual(FakeSocket.last.sent, []);
  session.connection.resync();
  mock.timers.tick(2_000);
  FakeSocket.last.say(replay([], { mode: "current", reset: false, head: 3, run: "awaiting_approval", pending: OPEN }));
  assert.equal(session.permits.isArmed(tool(session.view)), true);
});

test("an answer names the arguments that were shown, goes once, and is resolved by its event", async () => {
  const { session } = await open();
  FakeSocket.last.say(replay(ASKED.slice(0, 2), { run: "running" }));
  FakeSocket.last.say({ type: "event", epoch: "e1", event: ASKED[2] });
  session.decide("t1", "approved");
  session.decide("t1", "denied");
  assert.deepEqual(FakeSocket.last.sent, [{ type: "approval.decide", tool_call: "t1", decision: "approved", args_hash: "h1" }]);
  assert.equal(session.permits.verdict("t1").state, "sending");
  FakeSocket.last.say({ type: "ack", tool_call: "t1", decision: "approved" });
  FakeSocket.last.say({ type: "event", epoch: "e1", event: decided("approved") });
  assert.equal(session.permits.verdict("t1"), null);
  assert.equal(session.permits.isArmed(tool(session.view)), false);
});

test("a late answer learns who decided", async () => {
  const { session } = await open();
  FakeSocket.last.say(replay(ASKED, { run: "awaiting_approval", pending: OPEN }));
  session.decide("t1", "approved");
  const at = "2026-11-30T10:00:04Z";
  FakeSocket.last.say({ type: "nack", tool_call: "t1", code: "already_decided", detail: "…", decision: "denied", by: { type: "user", id: "7" }, where: "telegram", at, retryable: false });
  FakeSocket.last.say({ type: "event", epoch: "e1", event: decided("denied") });
  const { state, decision, where } = session.permits.verdict("t1");
  assert.deepEqual([state, decision, where, session.queue.items.length], ["late", "denied", "telegram", 0]);
  assert.equal(session.permits.isArmed(tool(session.view)), false);
});

test("other arguments than the ones shown: nobody answers before looking again", async () => {
  const { session } = await open();
  FakeSocket.last.say(replay(ASKED, { run: "awaiting_approval", pending: OPEN }));
  session.decide("t1", "approved");
  FakeSocket.last.say({ type: "nack", tool_call: "t1", code: "hash", detail: "…", retryable: false });
  assert.equal(session.permits.isArmed(tool(session.view)), false);
  mock.timers.tick(2_000);
  assert.equal(FakeSocket.all.length, 2);
  FakeSocket.last.say(replay(ASKED, { run: "awaiting_approval", pending: OPEN }));
  assert.equal(session.permits.isArmed(tool(session.view)), true);
});

test("without a connection nothing is armed, and an answer that was lost may be given again", async () => {
  const { session } = await open();
  FakeSocket.last.say(replay(ASKED, { run: "awaiting_approval", pending: OPEN }));
  session.decide("t1", "approved");
  FakeSocket.last.onclose({ code: 1006, reason: "" });
  assert.equal(session.permits.isArmed(tool(session.view)), false);
  mock.timers.tick(2_000);
  FakeSocket.last.say(replay([], { mode: "current", reset: false, head: 3, run: "awaiting_approval", pending: OPEN }));
  session.decide("t1", "approved");
  assert.equal(FakeSocket.last.sent.length, 1);
});

test("a message said meanwhile waits, and ends in one of three ways", () => {
  const said = [event(1, "message.completed", { message: "u", role: "user", text: "and a window seat" }), event(2, "steer.accepted", { message: "u" })];
  const steer = (...types) => fold(initial("c"), [...said, ...types.map((type, i) => event(3 + i, type, { message: "u" }))]).items[0].steer;
  assert.deepEqual([steer(), steer("steer.consumed"), steer("steer.promoted"), steer("steer.expired")], ["waiting", "consumed", "promoted", "expired"]);
});
