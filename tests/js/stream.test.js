import assert from "node:assert/strict";
import { test } from "node:test";

import { ApiError } from "../../crossmemory/static/crossmemory/api.js";
import { StreamSocket } from "../../crossmemory/static/crossmemory/stream.js";

const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

/** A socket over a stream that the test writes, and what it told. */
function make(api = {}) {
  const calls = [];
  const it = { calls, told: [], closed: [] };
  const stream = new ReadableStream({ start: (controller) => void (it.controller = controller) });
  const door = (name) => async (...given) => {
    calls.push([name, ...given.slice(1)]);
    return {};
  };
  it.socket = new StreamSocket(
    {
      openStream: async (id, query, signal) => {
        Object.assign(it, { query, signal });
        return { body: stream };
      },
      ...Object.fromEntries(["sendMessage", "decide", "stopRun", "markRead", "getConversation"].map((name) => [name, door(name)])),
      ...api,
    },
    "c",
    "?cursor=e1%3A2",
  );
  it.socket.onmessage = ({ data }) => it.told.push(JSON.parse(data));
  it.socket.onclose = ({ code }) => it.closed.push(code);
  it.write = (...pieces) => {
    for (const piece of pieces) it.controller.enqueue(typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
    return settled();
  };
  return it;
}

test("frames come whole, wherever the network cut them, also within a letter", async () => {
  const it = make();
  let opened = 0;
  it.socket.onopen = () => (opened += 1);
  await settled();
  assert.equal(opened, 1);
  assert.equal(it.query, "?cursor=e1%3A2");
  const bytes = new TextEncoder().encode('event: event\nid: e1:3\ndata: {"type":"event","text":"año 🌊"}\n\n');
  await it.write("retry: 2000\n\n");
  for (const byte of bytes) await it.write(new Uint8Array([byte]));
  await it.write('event: ping\ndata: {"type":"ping","head":3}\n\nevent: ping\ndata: {"type":"ping","head":4}\n\nevent: pi');
  assert.deepEqual(it.told, [{ type: "event", text: "año 🌊" }, { type: "ping", head: 3 }, { type: "ping", head: 4 }]);
});

test("what is sent goes out one after the other, and is confirmed", async () => {
  let first;
  const sent = [];
  const it = make({
    sendMessage: (id, frame) => {
      sent.push(frame.client_id);
      return sent.length === 1 ? new Promise((resolve) => (first = () => resolve({ seq: 7, duplicate: false }))) : Promise.resolve({ seq: 8, duplicate: true });
    },
  });
  await settled();
  it.socket.send(JSON.stringify({ type: "message.send", client_id: "a", text: "one" }));
  it.socket.send(JSON.stringify({ type: "message.send", client_id: "b", text: "two" }));
  it.socket.send(JSON.stringify({ type: "read", seq: 8 }));
  it.socket.send(JSON.stringify({ type: "run.stop" }));
  it.socket.send(JSON.stringify({ type: "approval.decide", tool_call: "t", decision: "approved", args_hash: "h" }));
  it.socket.send(JSON.stringify({ type: "ping" }));
  await settled();
  assert.deepEqual(sent, ["a"]);
  first();
  await settled();
  assert.deepEqual(it.told, [
    { type: "ack", client_id: "a", seq: 7, duplicate: false },
    { type: "ack", client_id: "b", seq: 8, duplicate: true },
    { type: "ack", tool_call: "t", decision: "approved" },
    { type: "pong" },
  ]);
  assert.deepEqual(it.calls, [["markRead", 8], ["stopRun"], ["decide", "t", { decision: "approved", args_hash: "h" }], ["getConversation"]]);
});

test("a refusal says whether to try again; a network that is gone is no refusal", async () => {
  const answers = [new ApiError(400, "too_long", "Too long."), new ApiError(503, "", ""), new ApiError(0, "offline", ""), new ApiError(429, "throttled", "Wait.")];
  const refuse = async () => {
    throw answers.shift();
  };
  const it = make({ sendMessage: refuse, getConversation: refuse });
  await settled();
  for (const client_id of ["a", "b", "c", "d"]) it.socket.send(JSON.stringify({ type: "message.send", client_id, text: "x" }));
  await settled();
  assert.deepEqual(it.told.map(({ client_id, code, retryable }) => [client_id, code, retryable]), [["a", "too_long", false], ["b", "unavailable", true], ["c", "offline", true], ["d", "throttled", true]]);
});

test("a decision that came too late says what was decided", async () => {
  const it = make({
    decide: async () => {
      throw new ApiError(409, "already_decided", "Too late.", { code: "already_decided", decision: "denied" });
    },
  });
  await settled();
  it.socket.send(JSON.stringify({ type: "approval.decide", tool_call: "t", decision: "approved", args_hash: "h" }));
  await settled();
  assert.deepEqual(it.told, [{ type: "nack", tool_call: "t", code: "already_decided", detail: "Too late.", decision: "denied", retryable: false }]);
});

for (const [status, code] of [[401, 4501], [404, 4504], [406, 1006], [503, 1006], [0, 1006]]) {
  test(`a stream that is refused with ${status} closes with ${code}`, async () => {
    const it = make({
      openStream: async () => {
        throw new ApiError(status, "", "");
      },
    });
    await settled();
    assert.deepEqual(it.closed, [code]);
    assert.equal(it.socket.readyState, 3);
  });
}

test("a stream that ends is closed; one that was left says nothing more", async () => {
  const ended = make();
  await settled();
  ended.controller.close();
  await settled();
  assert.deepEqual(ended.closed, [1006]);

  const left = make();
  await settled();
  left.socket.close();
  assert.equal(left.signal.aborted, true);
  await left.write('data: {"type":"ping"}\n\n');
  assert.deepEqual([left.told, left.closed], [[], []]);
});

test("text that is lacking comes with a new beginning", async () => {
  const it = make();
  await settled();
  it.socket.send(JSON.stringify({ type: "partial.get", message: "m", from: 3 }));
  await settled();
  assert.deepEqual(it.closed, [1006]);
});
