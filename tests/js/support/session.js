/** A session whose server the test plays. */

import { Session } from "../../../crossmemory/static/crossmemory/session.js";

export class FakeSocket {
  static all = [];
  static get last() {
    return FakeSocket.all.at(-1);
  }
  constructor(url) {
    Object.assign(this, { url, readyState: 1, sent: [] });
    FakeSocket.all.push(this);
  }
  send(text) {
    this.sent.push(JSON.parse(text));
  }
  close() {
    this.readyState = 3;
  }
  say(frame) {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
  get messages() {
    return this.sent.filter((frame) => frame.type === "message.send");
  }
}

function fakeStore() {
  const copies = new Map();
  const queue = new Map();
  return {
    copies,
    queue,
    loadCopy: async (id) => copies.get(id) ?? null,
    saveCopy: async (state) => void copies.set(state.conversation, state),
    loadQueue: async () => [...queue.values()],
    saveQueued: async (_id, item) => void queue.set(item.client_id, item),
    dropQueued: async (_id, clientId) => void queue.delete(clientId),
  };
}

export const replay = (events, more = {}) => ({
  type: "structured_replay",
  epoch: "e1",
  replay_id: `p${FakeSocket.all.length}`,
  mode: "full",
  reset: true,
  batch: 0,
  last: true,
  head: events.at(-1)?.seq ?? 0,
  floor: 1,
  gap: null,
  run: "idle",
  pending: [],
  partials: [],
  events,
  ...more,
});

export async function open({ store = fakeStore(), api = {}, ...options } = {}) {
  const changes = [];
  const session = new Session({
    conversation: "c",
    api,
    store,
    url: "ws://site/c/",
    WebSocket: FakeSocket,
    stream: false,
    onChange: (_session, change) => changes.push(change),
    ...options,
  });
  await session.open();
  return { session, store, changes };
}
