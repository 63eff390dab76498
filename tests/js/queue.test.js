import assert from "node:assert/strict";
import { beforeEach, mock, test } from "node:test";

import { Queue } from "../../crossmemory/static/crossmemory/queue.js";
import { fold, initial } from "../../crossmemory/static/crossmemory/reducer.js";

const MINUTE = 60_000;

beforeEach(() => {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
});

function memoryStore(kept = []) {
  const rows = new Map(kept.map((item) => [item.client_id, item]));
  return {
    rows,
    loadQueue: async () => [...rows.values()],
    saveQueued: async (_conversation, item) => void rows.set(item.client_id, item),
    dropQueued: async (_conversation, id) => void rows.delete(id),
  };
}

function make({ store = memoryStore(), now = 0, ...options } = {}) {
  const sent = [];
  const clock = { now };
  let ids = 0;
  const queue = new Queue({
    conversation: "c",
    store,
    send: (item) => (sent.push([item.client_id, item.text]), true),
    now: () => clock.now,
    newId: () => `id${(ids += 1)}`,
    ...options,
  });
  return { queue, sent, clock, store };
}

const said = (seq, clientId, text = "ok") => ({
  seq,
  type: "message.completed",
  client_id: clientId,
  data: { message: `m${seq}`, role: "user", text },
});
const log = (...events) => fold(initial("c"), events);
const states = (queue) => queue.items.map((item) => [item.client_id, item.state]);

test("nothing goes out before the replay is over", () => {
  const { queue, sent } = make();
  queue.add("hello");
  assert.deepEqual(sent, []);
  queue.open();
  assert.deepEqual(sent, [["id1", "hello"]]);
});

test("one at a time, in order", () => {
  const { queue, sent } = make();
  queue.open();
  queue.add("one");
  queue.add("two");
  assert.equal(sent.length, 1);
  queue.ack({ client_id: "id1", seq: 5 }, log());
  assert.deepEqual(sent.map(([, text]) => text), ["one", "two"]);
});

test("acknowledged first: the bubble stays until its event is here", () => {
  const { queue } = make();
  queue.open();
  queue.add("hello");
  queue.ack({ client_id: "id1", seq: 1 }, log());
  assert.deepEqual(states(queue), [["id1", "saved"]]);
  queue.settle(log(said(1, "id1")));
  assert.deepEqual(states(queue), []);
});

test("event first: the bubble goes, and the late acknowledgement is harmless", () => {
  const { queue, store } = make();
  queue.open();
  queue.add("hello");
  const state = log(said(1, "id1"));
  queue.settle(state);
  assert.deepEqual(states(queue), []);
  queue.ack({ client_id: "id1", seq: 1 }, state);
  assert.deepEqual(states(queue), []);
  assert.equal(store.rows.size, 0);
});

test("two equal texts are two messages, whatever the order of their echoes", () => {
  const { queue, sent } = make();
  queue.open();
  queue.add("ok");
  queue.add("ok");
  queue.settle(log(said(1, "somebody else's ok")));
  assert.equal(queue.items.length, 2);
  queue.settle(log(said(1, "id2")));
  assert.deepEqual(states(queue), [["id1", "sending"]]);
  queue.settle(log(said(1, "id2"), said(2, "id1")));
  assert.deepEqual(states(queue), []);
  assert.deepEqual(sent, [["id1", "ok"]]);
});

test("an acknowledgement that was lost: sent again under the same id", () => {
  const { queue, sent } = make();
  queue.open();
  queue.add("hello");
  queue.close();
  assert.deepEqual(states(queue), [["id1", "waiting"]]);
  queue.open();
  assert.deepEqual(sent, [["id1", "hello"], ["id1", "hello"]]);
  queue.ack({ client_id: "id1", seq: 1, duplicate: true }, log(said(1, "id1")));
  assert.deepEqual(states(queue), []);
});

test("a message whose event fell below the floor goes when its number is passed", () => {
  const { queue } = make();
  queue.open();
  queue.add("hello");
  queue.ack({ client_id: "id1", seq: 3, duplicate: true }, { ...initial("c"), seq: 900 });
  assert.deepEqual(states(queue), []);
});

test("kept across a reload, and sent once under its own id", async () => {
  const store = memoryStore();
  const first = make({ store });
  first.queue.add("typed offline");
  const second = make({ store });
  await second.queue.restore();
  second.queue.open();
  assert.deepEqual(second.sent, [["id1", "typed offline"]]);
});

test("what waited longer than fifteen minutes asks first, and holds back what came after it", () => {
  const { queue, sent, clock } = make();
  queue.add("old");
  clock.now = 10 * MINUTE;
  queue.add("younger");
  clock.now = 16 * MINUTE;
  queue.open();
  assert.deepEqual(sent, []);
  assert.deepEqual(states(queue), [["id1", "asking"], ["id2", "waiting"]]);
  queue.retry("id1");
  queue.ack({ client_id: "id1", seq: 1 }, log(said(1, "id1")));
  assert.deepEqual(sent.map(([id]) => id), ["id1", "id2"]);
});

test("an old message that is thrown away lets the next one go", () => {
  const { queue, sent, clock } = make();
  queue.add("old");
  clock.now = 14 * MINUTE;
  queue.add("young");
  clock.now = 16 * MINUTE;
  queue.open();
  assert.equal(queue.discard("id1"), "old");
  assert.deepEqual(sent, [["id2", "young"]]);
});

test("exactly fifteen minutes does not ask", () => {
  const { queue, sent, clock } = make();
  queue.add("x");
  clock.now = 15 * MINUTE;
  queue.open();
  assert.equal(sent.length, 1);
});

test("a refused message stays, marked, and retry keeps its id", async () => {
  const { queue, sent, store } = make();
  queue.open();
  queue.add("hello");
  queue.nack({ client_id: "id1", code: "busy", detail: "later" });
  assert.deepEqual([queue.items[0].state, queue.items[0].detail], ["refused", "later"]);
  const reloaded = make({ store });
  await reloaded.queue.restore();
  reloaded.queue.open();
  assert.deepEqual([reloaded.queue.items[0].state, reloaded.sent.length], ["refused", 0]);
  queue.retry("id1");
  assert.deepEqual(sent.map(([id]) => id), ["id1", "id1"]);
});

test("after a conflict, retry is a new message", () => {
  const { queue, sent } = make();
  queue.open();
  queue.add("hello");
  queue.nack({ client_id: "id1", code: "conflict" });
  queue.retry("id1");
  assert.deepEqual(sent.map(([id]) => id), ["id1", "id2"]);
  assert.deepEqual(states(queue), [["id2", "sending"]]);
});

test("a refusal does not hold back the next message", () => {
  const { queue, sent } = make();
  queue.open();
  queue.add("bad");
  queue.add("good");
  queue.nack({ client_id: "id1", code: "too_long" });
  assert.deepEqual(sent.map(([, text]) => text), ["bad", "good"]);
});

test("without an answer it is shown as not confirmed, and the connection is doubted", () => {
  let late = 0;
  const { queue } = make({ onLate: () => (late += 1) });
  queue.open();
  queue.add("hello");
  mock.timers.tick(30_000);
  assert.deepEqual(states(queue), [["id1", "late"]]);
  assert.equal(late, 1);
  queue.ack({ client_id: "id1", seq: 1 }, log(said(1, "id1")));
  assert.deepEqual(states(queue), []);
});

test("a socket that does not take the message leaves it waiting", () => {
  const { queue } = make({ send: () => false });
  queue.open();
  queue.add("hello");
  assert.deepEqual(states(queue), [["id1", "waiting"]]);
});
