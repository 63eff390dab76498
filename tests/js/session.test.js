import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { FakeSocket, open, replay } from "./support/session.js";

beforeEach(() => {
  FakeSocket.all = [];
  mock.timers.enable({ apis: ["setTimeout"] });
});
afterEach(() => mock.timers.reset());

const said = (seq, text, clientId = null) => ({
  seq,
  type: "message.completed",
  client_id: clientId,
  data: { message: `m${seq}`, role: "user", text },
});
const texts = (session) => session.view.items.map((item) => item.text);

test("paints the local copy at once, then resumes by cursor", async () => {
  const first = await open();
  FakeSocket.last.say(replay([said(1, "a"), said(2, "b")]));
  first.session.close();
  const second = await open({ store: first.store });
  assert.deepEqual(texts(second.session), ["a", "b"]);
  assert.match(FakeSocket.last.url, /\?cursor=e1%3A2$/);
  FakeSocket.last.say(replay([said(3, "c")], { mode: "resume", reset: false }));
  assert.deepEqual(texts(second.session), ["a", "b", "c"]);
});

test("only what comes after the last batch is live", async () => {
  const { session, changes } = await open();
  FakeSocket.last.say(replay([said(1, "a")], { last: false, head: 2 }));
  FakeSocket.last.say(replay([said(2, "b")], { batch: 1, reset: false }));
  assert.ok(changes.every((change) => !change.live));
  FakeSocket.last.say({ type: "event", epoch: "e1", event: said(3, "c") });
  assert.ok(changes.at(-1).live || changes.at(-2).live);
  assert.deepEqual(texts(session), ["a", "b", "c"]);
});

test("a rebuild keeps what was painted until it is complete", async () => {
  const { session } = await open();
  FakeSocket.last.say(replay([said(1, "old")]));
  session.connection.resync();
  mock.timers.tick(2_000);
  FakeSocket.last.say(replay([said(1, "new")], { epoch: "e2", last: false, head: 2 }));
  assert.deepEqual(texts(session), ["old"]);
  FakeSocket.last.say(replay([said(2, "newer")], { epoch: "e2", batch: 1, reset: false }));
  assert.deepEqual(texts(session), ["new", "newer"]);
});

test("a message typed before the replay waits for it, and goes once", async () => {
  const { session } = await open();
  session.send("hello");
  assert.deepEqual(FakeSocket.last.messages, []);
  FakeSocket.last.say(replay([said(1, "a")]));
  assert.equal(FakeSocket.last.messages.length, 1);
  const { client_id: id } = FakeSocket.last.messages[0];
  FakeSocket.last.say({ type: "event", epoch: "e1", event: said(2, "hello", id) });
  FakeSocket.last.say({ type: "ack", client_id: id, seq: 2, duplicate: false });
  assert.deepEqual([session.queue.items.length, texts(session)], [0, ["a", "hello"]]);
});

test("a message that was stored although its answer was lost is not sent again", async () => {
  const { session } = await open();
  FakeSocket.last.say(replay([said(1, "a")]));
  session.send("hello");
  const { client_id: id } = FakeSocket.last.messages[0];
  session.connection.resync();
  mock.timers.tick(2_000);
  FakeSocket.last.say(replay([said(2, "hello", id)], { mode: "resume", reset: false }));
  assert.deepEqual(FakeSocket.last.messages, []);
  assert.equal(session.queue.items.length, 0);
});

test("a message that never arrived is sent again under the same id", async () => {
  const { session } = await open();
  FakeSocket.last.say(replay([said(1, "a")]));
  session.send("hello");
  const { client_id: id } = FakeSocket.last.messages[0];
  session.connection.resync();
  mock.timers.tick(2_000);
  FakeSocket.last.say(replay([], { mode: "current", reset: false, head: 1 }));
  assert.deepEqual(FakeSocket.last.messages.map((frame) => frame.client_id), [id]);
});

test("a hole in streamed text is asked for once", async () => {
  const { session } = await open();
  FakeSocket.last.say(replay([{ seq: 1, type: "message.started", run: "r", data: { message: "a", role: "assistant" } }], { run: "running" }));
  FakeSocket.last.say({ type: "delta", message: "a", offset: 4, text: "late" });
  FakeSocket.last.say({ type: "delta", message: "a", offset: 8, text: "later" });
  assert.deepEqual(FakeSocket.last.sent, [{ type: "partial.get", message: "a", from: 0 }]);
  FakeSocket.last.say({ type: "partial", message: "a", offset: 0, text: "so, late" });
  FakeSocket.last.say({ type: "delta", message: "a", offset: 8, text: "r" });
  assert.deepEqual(texts(session), ["so, later"]);
});

test("being signed out is told, and nothing is kept", async () => {
  let out = 0;
  const { session, store } = await open({ onSignedOut: () => (out += 1) });
  FakeSocket.last.say(replay([said(1, "a")]));
  FakeSocket.last.onclose({ code: 4501, reason: "" });
  session.abandon();
  mock.timers.tick(5_000);
  assert.equal(out, 1);
  assert.equal(store.copies.size, 0);
});

test("read is sent once for each new end of the log, and only when online", async () => {
  const { session } = await open();
  assert.equal(session.markRead(), false);
  FakeSocket.last.say(replay([said(1, "a")]));
  assert.equal(session.markRead(), true);
  assert.equal(session.markRead(), false);
  assert.deepEqual(FakeSocket.last.sent, [{ type: "read", seq: 1 }]);
});

test("earlier messages come from the feed, below what is here", async () => {
  const asked = [];
  const api = {
    listMessages: async (_id, before) => {
      asked.push(before);
      return { messages: [{ id: "old", seq: 3, role: "user", text: "old", status: "complete" }], before: null };
    },
  };
  const { session } = await open({ api });
  FakeSocket.last.say(replay([said(1, "x"), said(9, "new")], { floor: 9, truncated: true, gap: { from: 2, to: 8, reason: "count" } }));
  await session.loadEarlier();
  await session.loadEarlier();
  assert.deepEqual(asked, [9]);
  assert.deepEqual(texts(session), ["x", "old", "new"]);
});

test("stop goes over the socket, or over HTTP when there is none", async () => {
  const stopped = [];
  const { session } = await open({ api: { stopRun: async (id) => void stopped.push(id) } });
  await session.stop();
  assert.deepEqual(stopped, ["c"]);
  FakeSocket.last.say(replay([said(1, "a")]));
  await session.stop();
  assert.deepEqual(FakeSocket.last.sent, [{ type: "run.stop" }]);
});
