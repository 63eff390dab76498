/** The JavaScript client does its duties, as the conformance scripts of docs/protocol tell them. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { afterEach, beforeEach, test } from "node:test";

import { parse } from "yaml";

import { Session } from "../../crossmemory/static/crossmemory/session.js";
import { Store } from "../../crossmemory/static/crossmemory/store.js";
import { Clock } from "./support/clock.js";
import { FakeIndexedDB } from "./support/indexeddb.js";
import { check as checkFrame } from "./support/schema.js";
import { FakeSocket } from "./support/session.js";

const FOLDER = new URL("../../docs/protocol/conformance/client/", import.meta.url);
const LONGEST_PAUSE = 60_000; // milliseconds before a client comes back, at most
const STEP = 500; // milliseconds by which time passes

let clock = new Clock();

/** All that was asked of the fake browser has happened. */
async function settled() {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
}

/** A socket whose network may be away: then it is closed before it was open. */
class Socket extends FakeSocket {
  static away = false;
  constructor(url) {
    super(url);
    if (!Socket.away) return;
    FakeSocket.all.pop();
    this.readyState = 3;
    setImmediate(() => this.onclose?.({ code: 1006, reason: "" }));
  }
}

/** What names that begin with `$` stand for in one script. */
class Names {
  #known = new Map();

  /** A value with the names in it replaced. */
  filled(value) {
    if (Array.isArray(value)) return value.map((each) => this.filled(each));
    if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.filled(each)]));
    return this.#known.get(value) ?? value;
  }

  check(found, expected, at = "") {
    if (typeof expected === "string" && expected.startsWith("$")) {
      if (expected === "$any") return assert.ok(found !== null && found !== undefined, `${at}: nothing`);
      if (!this.#known.has(expected)) this.#known.set(expected, found);
      expected = this.#known.get(expected);
    }
    if (Array.isArray(expected)) {
      assert.equal(found?.length, expected.length, `${at}: ${JSON.stringify(found)}`);
      return expected.forEach((each, number) => this.check(found[number], each, `${at}[${number}]`));
    }
    if (expected && typeof expected === "object") {
      for (const [key, each] of Object.entries(expected)) this.check(found?.[key], each, `${at}.${key}`);
      return undefined;
    }
    return assert.equal(found ?? null, expected, at);
  }
}

/** One script, step by step. */
class Play {
  names = new Names();
  socket = null;
  connections = 0;
  read = 0;
  served = {};
  effects = [];

  indexedDB = new FakeIndexedDB();
  user = "7";

  /** @param {boolean} later  a server of a later version speaks, with more than this one knows */
  constructor(later) {
    this.later = later;
  }

  /** The page is opened. */
  async start() {
    const api = { getEvent: async (ref) => this.served[ref] ?? assert.fail(`${ref} is not served`) };
    const store = await Store.open({ user: this.user, indexedDB: this.indexedDB, BroadcastChannel: null });
    let seq = 0;
    const onChange = (session, { live }) => {
      if (live && session.state.seq !== seq) this.effects.push(session.state.seq);
      seq = session.state.seq;
    };
    const onSignedOut = () => {
      this.session.abandon();
      void store.drop();
    };
    this.session = new Session({ conversation: "c1", url: "ws://site/c1/", api, store, onChange, onSignedOut, WebSocket: Socket, stream: false });
    await this.session.open();
  }

  async reloads({ user = this.user }) {
    this.session.close();
    await settled();
    this.user = user;
    await this.start();
  }

  loses_storage() {
    this.indexedDB.faults.put = () => true;
  }

  loses_network() {
    Socket.away = true;
    this.breaks();
  }

  network_returns() {
    Socket.away = false;
    this.session.connection.wake();
  }

  wakes() {
    this.session.connection.wake();
  }

  async passes(seconds) {
    for (let passed = 0; passed < seconds * 1000; passed += STEP) {
      clock.tick(STEP);
      if (Socket.away) await settled();
    }
  }

  retries(text) {
    this.session.queue.retry(this.session.queue.items.find((item) => item.text === text).client_id);
  }

  reads() {
    this.session.markRead();
  }

  async stops() {
    await this.session.stop();
  }

  connects({ within = LONGEST_PAUSE / 1000, ...expected }) {
    for (let waited = 0; FakeSocket.all.length === this.connections && waited < within * 1000; waited += STEP) clock.tick(STEP);
    assert.equal(FakeSocket.all.length, this.connections + 1, "it does not connect");
    this.connections += 1;
    this.socket = FakeSocket.last;
    this.read = 0;
    this.names.check({ cursor: new URL(this.socket.url).searchParams.get("cursor") }, expected);
    this.socket.onopen?.({});
  }

  server(frame) {
    const filled = this.names.filled(frame);
    if (!this.later) checkFrame("server", filled);
    this.socket.say(filled);
  }

  raw(text) {
    this.socket.onmessage?.({ data: text });
  }

  closes(code) {
    this.socket.readyState = 3;
    this.socket.onclose?.({ code, reason: "" });
  }

  breaks() {
    this.closes(1006);
  }

  stays_away() {
    clock.tick(LONGEST_PAUSE);
    assert.equal(FakeSocket.all.length, this.connections, "it came back");
  }

  says(text) {
    this.session.send(text);
  }

  presses({ tool_call: call, decision }) {
    this.session.decide(call, decision);
  }

  serves(events) {
    Object.assign(this.served, events);
  }

  sends(expected) {
    const frame = this.socket.sent[this.read];
    assert.ok(frame, "it sends nothing");
    this.names.check(frame, expected);
    checkFrame("client", frame);
    this.read += 1;
  }

  sends_nothing() {
    assert.deepEqual(this.socket.sent.slice(this.read), []);
  }

  state(expected) {
    const { state, queue, permits, link } = this.session;
    const armed = state.items.filter((item) => item.kind === "tool" && permits.isArmed(item)).map((item) => item.id);
    const bubbles = queue.items.map((item) => item.text);
    const { epoch, seq, run, title, items } = state;
    const told = { epoch, seq, run, title, items, bubbles, armed, online: link === "online", truncated: state.gap !== null };
    this.names.check(told, expected);
  }

  effects_were(expected) {
    assert.deepEqual([...new Set(this.effects.splice(0))].sort((a, b) => a - b), expected);
  }

  async go(steps) {
    await this.start();
    for (const step of steps) {
      const [[word, value]] = Object.entries(step);
      await (word === "effects" ? this.effects_were(value) : this[word](value));
      await settled();
    }
    this.session.close();
  }
}

beforeEach(() => {
  FakeSocket.all = [];
  Socket.away = false;
  clock = new Clock();
  clock.install();
});
afterEach(() => clock.restore());

for (const file of readdirSync(FOLDER).sort()) {
  const { scripts } = parse(readFileSync(new URL(file, FOLDER), "utf8"), { merge: true, maxAliasCount: -1 });
  for (const { name, duties, steps } of scripts) {
    const later = String(duties) === "6";
    test(`${file}: ${name}`, () => new Play(later).go(steps));
  }
}
