import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";

import { Connection } from "../../crossmemory/static/crossmemory/connection.js";
import { applyBatch, initial, reduce } from "../../crossmemory/static/crossmemory/reducer.js";

/** Stands in for the browser's WebSocket; the test plays the server. */
class FakeSocket {
  static all = [];
  static get last() {
    return FakeSocket.all.at(-1);
  }
  constructor(url, protocols) {
    Object.assign(this, { url, protocols, readyState: 0, sent: [], closedWith: null });
    FakeSocket.all.push(this);
  }
  send(text) {
    this.sent.push(JSON.parse(text));
  }
  close(code) {
    this.readyState = 3;
    this.closedWith = code;
  }
  open() {
    this.readyState = 1;
    this.onopen?.({});
  }
  say(frame) {
    this.onmessage?.({ data: typeof frame === "string" ? frame : JSON.stringify(frame) });
  }
  die(code = 1006, reason = "") {
    this.readyState = 3;
    this.onclose?.({ code, reason });
  }
}

beforeEach(() => {
  FakeSocket.all = [];
  mock.timers.enable({ apis: ["setTimeout"] });
});
afterEach(() => mock.timers.reset());

const event = (seq, more = {}) => ({ seq, type: "memory.boundary", data: {}, ...more });
const batch = (events, more = {}) => ({
  type: "structured_replay",
  epoch: "e1",
  replay_id: "p1",
  mode: "full",
  reset: true,
  batch: 0,
  last: true,
  head: 99,
  floor: 1,
  gap: null,
  events,
  ...more,
});

function make(options = {}) {
  const it = { state: initial("c"), batches: [], live: [], words: [], deltas: [], page: new EventTarget(), view: new EventTarget() };
  it.view.visibilityState = "visible";
  let now = 0;
  it.tick = (milliseconds) => {
    now += milliseconds;
    mock.timers.tick(milliseconds);
  };
  it.connection = new Connection({
    url: "ws://site/ws/c/",
    position: () => it.state,
    WebSocket: FakeSocket,
    page: it.page,
    view: it.view,
    now: () => now,
    random: () => 0,
    handlers: {
      onBatch: (frame) => {
        it.batches.push(frame.batch);
        it.state = applyBatch(it.state, frame);
      },
      onEvent: (one) => {
        it.live.push(one.seq);
        it.state = reduce(it.state, one);
      },
      onDelta: (delta) => it.deltas.push(delta),
      onState: (state, code) => it.words.push(code === null ? state : `${state} ${code}`),
    },
    ...options,
  });
  it.connection.start();
  return it;
}

/** A connection that has its replay behind it. */
function online(options) {
  const it = make(options);
  FakeSocket.last.open();
  FakeSocket.last.say(batch([event(1), event(2)], { head: 2 }));
  return it;
}

test("asks without a cursor at first, under the protocol's name", () => {
  make();
  assert.equal(FakeSocket.last.url, "ws://site/ws/c/");
  assert.deepEqual(FakeSocket.last.protocols, ["crossmemory.v1"]);
});

test("is online only after the last batch", () => {
  const it = make();
  FakeSocket.last.open();
  FakeSocket.last.say(batch([event(1)], { last: false }));
  assert.equal(it.connection.state, "connecting");
  FakeSocket.last.say(batch([event(2)], { batch: 1, reset: false }));
  assert.equal(it.connection.state, "online");
  assert.deepEqual(it.words, ["connecting", "online"]);
});

test("resumes by cursor, escaped", () => {
  const it = online();
  it.state = { ...it.state, epoch: "k7Q/+=" };
  FakeSocket.last.die();
  it.tick(1_000);
  assert.equal(FakeSocket.last.url, "ws://site/ws/c/?cursor=k7Q%2F%2B%3D%3A2");
});

test("a batch after a hole is refused and the replay asked for again", () => {
  const it = make();
  const socket = FakeSocket.last;
  socket.open();
  socket.say(batch([event(1)], { last: false }));
  socket.say(batch([event(5)], { batch: 2, reset: false }));
  assert.deepEqual(it.batches, [0]);
  assert.notEqual(socket.closedWith, null);
  it.tick(1_000);
  assert.equal(FakeSocket.last.url, "ws://site/ws/c/?cursor=e1%3A1");
});

test("a batch that comes twice is taken once", () => {
  const it = make();
  FakeSocket.last.open();
  FakeSocket.last.say(batch([event(1)], { last: false }));
  FakeSocket.last.say(batch([event(1)], { last: false }));
  assert.deepEqual(it.batches, [0]);
});

test("a batch that belongs to an older replay is refused", () => {
  const it = make();
  const socket = FakeSocket.last;
  socket.open();
  socket.say(batch([event(1)], { last: false }));
  socket.say(batch([event(1), event(7)], { replay_id: "p2", epoch: "e2", last: false }));
  socket.say(batch([event(2)], { batch: 1, reset: false }));
  socket.say(batch([event(8)], { replay_id: "p2", epoch: "e2", batch: 1, reset: false }));
  assert.deepEqual(it.batches, [0, 0, 1]);
  assert.deepEqual([it.state.epoch, it.state.seq], ["e2", 8]);
  assert.equal(it.connection.state, "online");
});

test("live events go on where the replay ended; doubles are dropped", () => {
  const it = online();
  FakeSocket.last.say({ type: "event", epoch: "e1", event: event(2) });
  FakeSocket.last.say({ type: "event", epoch: "e1", event: event(3) });
  FakeSocket.last.say({ type: "event", epoch: "e1", event: event(3) });
  assert.deepEqual(it.live, [3]);
});

test("a hole in the live events, or another epoch, attaches again", () => {
  for (const frame of [
    { type: "event", epoch: "e1", event: event(9) },
    { type: "event", epoch: "e2", event: event(3) },
  ]) {
    const it = online();
    FakeSocket.last.say(frame);
    assert.deepEqual(it.live, []);
    assert.equal(it.connection.state, "offline");
  }
});

test("nothing live is taken before the replay is over", () => {
  const it = make();
  FakeSocket.last.open();
  FakeSocket.last.say({ type: "event", epoch: "e1", event: event(233) });
  FakeSocket.last.say({ type: "delta", message: "m", offset: 0, text: "x" });
  assert.deepEqual([it.live, it.deltas], [[], []]);
});

test("frames that mean nothing here are ignored", () => {
  const it = online();
  for (const frame of ["", "{", "[1,2]", '"x"', "null", "7", { type: 5 }, { type: "news" }, { type: "event" }, { type: "event", event: {} }]) {
    FakeSocket.last.say(frame);
  }
  FakeSocket.last.onmessage({ data: new ArrayBuffer(2) });
  assert.equal(it.connection.state, "online");
});

test("answers a ping, with its number", () => {
  online();
  FakeSocket.last.say({ type: "ping", head: 2, n: 4 });
  FakeSocket.last.say({ type: "ping", head: 2 });
  assert.deepEqual(FakeSocket.last.sent, [{ type: "pong", n: 4 }, { type: "pong" }]);
});

test("a ping that knows more than was received attaches again after a while", () => {
  const it = online();
  FakeSocket.last.say({ type: "ping", head: 3 });
  it.tick(4_000);
  assert.equal(it.connection.state, "online");
  it.tick(1_000);
  assert.equal(it.connection.state, "offline");
});

test("a socket silent for 33 seconds is dead; any frame is life", () => {
  const it = online();
  it.tick(30_000);
  FakeSocket.last.say({ type: "whatever" });
  it.tick(30_000);
  assert.equal(it.connection.state, "online");
  it.tick(3_000);
  assert.equal(it.connection.state, "offline");
  assert.notEqual(FakeSocket.all[0].closedWith, null);
});

test("a socket that never opens is given up", () => {
  const it = make();
  it.tick(10_000);
  assert.equal(it.connection.state, "offline");
  it.tick(500);
  assert.equal(FakeSocket.all.length, 2);
});

test("waits longer each time, up to half a minute, and from the start again after a replay", () => {
  const it = make({ random: () => 1 });
  const waits = [];
  for (let n = 0; n < 9; n += 1) {
    FakeSocket.last.die();
    const before = FakeSocket.all.length;
    let waited = 0;
    while (FakeSocket.all.length === before) {
      it.tick(100);
      waited += 100;
    }
    waits.push(waited);
  }
  assert.deepEqual(waits, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  FakeSocket.last.open();
  FakeSocket.last.say(batch([event(1)]));
  FakeSocket.last.die();
  it.tick(500);
  assert.equal(FakeSocket.all.length, 11);
});

test("close codes below 4500 connect again, from 4500 on they are final", () => {
  for (const code of [1000, 1001, 1006, 1011, 1012, 4008, 4009, 4499]) {
    const it = online();
    FakeSocket.last.die(code);
    assert.equal(it.connection.state, "offline", String(code));
    it.tick(1_000);
    assert.equal(it.connection.state, "connecting", String(code));
    it.connection.stop();
  }
  for (const code of [4500, 4501, 4503, 4504, 4510]) {
    const it = online();
    const sockets = FakeSocket.all.length;
    FakeSocket.last.die(code);
    it.tick(120_000);
    it.connection.wake();
    assert.equal(it.words.at(-1), `final ${code}`);
    assert.equal(FakeSocket.all.length, sockets);
  }
});

test("4010 waits as long as the server asks", () => {
  for (const reason of ['{"retry_after_ms": 5000}', "retry_after_ms=5000"]) {
    const it = online();
    const sockets = FakeSocket.all.length;
    FakeSocket.last.die(4010, reason);
    it.tick(5_000);
    assert.equal(FakeSocket.all.length, sockets);
    it.tick(500);
    assert.equal(FakeSocket.all.length, sockets + 1);
    it.connection.stop();
  }
});

test("waking asks an open socket for life, and leaves one that does not answer", () => {
  const it = online();
  it.tick(3_000);
  it.page.dispatchEvent(new Event("pageshow"));
  it.view.dispatchEvent(new Event("visibilitychange"));
  it.page.dispatchEvent(new Event("online"));
  assert.deepEqual(FakeSocket.last.sent, [{ type: "ping" }], "once, however many events wake it");
  it.tick(3_900);
  assert.equal(it.connection.state, "online");
  it.tick(100);
  assert.equal(it.connection.state, "offline");
});

test("a socket that has just spoken is not asked", () => {
  const it = online();
  it.tick(1_000);
  it.connection.wake();
  assert.deepEqual(FakeSocket.last.sent, []);
});

test("a rebuild in mid-connection is not online before its last batch", () => {
  const it = online();
  FakeSocket.last.say(batch([event(1)], { replay_id: "p2", epoch: "e2", last: false }));
  assert.equal(it.connection.state, "connecting");
  FakeSocket.last.say(batch([event(2)], { replay_id: "p2", epoch: "e2", batch: 1, reset: false }));
  assert.equal(it.connection.state, "online");
});

test("waking with an answer changes nothing", () => {
  const it = online();
  it.tick(3_000);
  it.connection.wake();
  FakeSocket.last.say({ type: "pong" });
  it.tick(10_000);
  assert.equal(it.connection.state, "online");
});

test("waking does not wait for the back-off", () => {
  const it = make();
  FakeSocket.last.die();
  it.page.dispatchEvent(new Event("online"));
  it.page.dispatchEvent(new Event("online"));
  assert.equal(FakeSocket.all.length, 2);
  assert.equal(it.connection.state, "connecting");
});

test("a hidden page is not woken", () => {
  const it = make();
  FakeSocket.last.die();
  it.view.visibilityState = "hidden";
  it.view.dispatchEvent(new Event("visibilitychange"));
  assert.equal(FakeSocket.all.length, 1);
});

test("after stop nothing is heard, sent or opened", () => {
  const it = online();
  const socket = FakeSocket.last;
  it.connection.stop();
  it.page.dispatchEvent(new Event("online"));
  it.tick(100_000);
  assert.equal(FakeSocket.all.length, 1);
  assert.equal(socket.closedWith, 1000);
  assert.equal(it.connection.send({ type: "read", seq: 1 }), false);
});

test("an event too large for a frame is fetched, and what follows waits for it", async () => {
  let deliver;
  const it = online({ fetchRef: () => new Promise((resolve) => (deliver = resolve)) });
  FakeSocket.last.say({ type: "event", epoch: "e1", event: { seq: 3, type: "message.completed", ref: "/big" } });
  FakeSocket.last.say({ type: "event", epoch: "e1", event: event(4) });
  assert.deepEqual(it.live, []);
  deliver(event(3));
  await new Promise(setImmediate);
  assert.deepEqual(it.live, [3, 4]);
});

test("an event that cannot be fetched attaches again", async () => {
  const it = online({ fetchRef: () => Promise.reject(new Error("500")) });
  FakeSocket.last.say({ type: "event", epoch: "e1", event: { seq: 3, type: "message.completed", ref: "/big" } });
  await new Promise(setImmediate);
  assert.equal(it.connection.state, "offline");
});

test("a browser that refuses to make a socket is tried again", () => {
  const it = make({
    WebSocket: class {
      constructor() {
        throw new Error("blocked");
      }
    },
  });
  assert.equal(it.connection.state, "offline");
});

test("what no WebSocket brings is fetched over HTTP, and the other way round", () => {
  const streams = [];
  const stream = (query) => streams[streams.push(new FakeSocket(`stream${query}`)) - 1];
  const it = make({ stream });
  FakeSocket.last.die();
  it.tick(500);
  assert.equal(streams.length, 1);
  streams[0].die(); // neither: the server is away
  it.tick(1_000);
  assert.equal(FakeSocket.last.url, "ws://site/ws/c/");
  assert.equal(streams.length, 1);
  FakeSocket.last.open(); // a proxy that says yes, and lets nothing through
  FakeSocket.last.die();
  it.tick(2_000);
  assert.equal(streams.length, 2);
  streams[1].open();
  streams[1].say(batch([event(1), event(2)], { head: 2 }));
  assert.equal(it.connection.state, "online");
  streams[1].die();
  it.tick(500);
  assert.equal(FakeSocket.last.url, "ws://site/ws/c/?cursor=e1%3A2");
});

test("a WebSocket takes over again as soon as one gets through", () => {
  const streams = [];
  const it = make({ stream: (query) => streams[streams.push(new FakeSocket(`stream${query}`)) - 1] });
  FakeSocket.last.die();
  it.tick(500);
  streams[0].open();
  const alive = (milliseconds) => {
    for (let at = 0; at < milliseconds; at += 25_000) {
      streams[0].say({ type: "ping", head: 2 });
      it.tick(25_000);
    }
  };
  streams[0].say(batch([event(1), event(2)], { head: 2 }));
  alive(300_000);
  const probe = FakeSocket.last;
  assert.equal(probe.url, "ws://site/ws/c/?cursor=e1%3A2");
  probe.die(); // not yet
  alive(300_000);
  assert.notEqual(FakeSocket.last, probe);
  FakeSocket.last.open();
  assert.equal(streams[0].readyState, 3);
  it.tick(500);
  FakeSocket.last.open();
  FakeSocket.last.say(batch([], { mode: "current", reset: false, head: 2 }));
  assert.equal(it.connection.state, "online");
  assert.equal(streams.length, 1);
});
