/**
 * Folds what devices were given, with the page's own connection and reducer, and says what each shows in the end.
 *
 * In, one line a device: {"floor": 2, "tape": [{"cursor": null}, frame, frame, {"cursor": "epoch:7"}, frame …]}; a
 * cursor begins a connection. Out, one line a device: the digest that tests/support/telling.py computes, or
 * {"error": …} when the connection did not take what it was given.
 */

import { createHash } from "node:crypto";
import { createInterface } from "node:readline";

import { Connection } from "../../crossmemory/static/crossmemory/connection.js";
import { applyBatch, applyDelta, initial, reduce } from "../../crossmemory/static/crossmemory/reducer.js";

/** A socket that only receives. */
class Silent {
  readyState = 1;

  constructor() {
    Silent.last = this;
  }

  send() {}

  close() {}
}

/** JSON with sorted keys, as Python's `sort_keys`. */
function sorted(value) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
}

function digest(state, floor) {
  const { epoch, seq, title, agent, surface, created_at, run } = state;
  const items = state.items
    .filter((item) => item.seq >= floor)
    .map((item) => (item.kind === "message" && item.status === "writing" ? { ...item, text: "", length: 0 } : item));
  const text = JSON.stringify(sorted({ epoch, seq, title, agent, surface, created_at, run, items }));
  return createHash("sha256").update(text).digest("hex");
}

async function fold({ floor, tape }) {
  let state = initial("c");
  let connection = null;
  const handlers = {
    onBatch: (batch) => (state = applyBatch(state, batch)),
    onEvent: (event) => (state = reduce(state, event)),
    onDelta: (delta) => (state = applyDelta(state, delta).state),
  };
  const options = { url: "ws://x/", position: () => state, handlers, WebSocket: Silent, page: null, view: null };
  try {
    for (const [index, frame] of tape.entries()) {
      if ("cursor" in frame) {
        connection?.stop();
        connection = new Connection(options);
        connection.start();
        Silent.last.onopen();
        continue;
      }
      Silent.last.onmessage({ data: JSON.stringify(frame) });
      await Promise.resolve();
      if (connection.state === "offline" || connection.state === "final") {
        return { error: `frame ${index} (${frame.type}) was not taken` };
      }
    }
  } finally {
    connection?.stop();
  }
  return digest(state, floor);
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await fold(JSON.parse(line))));
}
