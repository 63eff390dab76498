import assert from "node:assert/strict";
import { test } from "node:test";

import { initial } from "../../crossmemory/static/crossmemory/reducer.js";
import { Store } from "../../crossmemory/static/crossmemory/store.js";
import { FakeIndexedDB } from "./support/indexeddb.js";

class FakeChannel {
  static open = new Set();
  constructor() {
    FakeChannel.open.add(this);
  }
  postMessage(data) {
    for (const other of FakeChannel.open) if (other !== this) other.onmessage?.({ data });
  }
  close() {
    FakeChannel.open.delete(this);
  }
}

const open = (indexedDB, more = {}) => Store.open({ user: "7", indexedDB, BroadcastChannel: null, patience: 50, ...more });
const state = (more = {}) => ({ ...initial("c"), epoch: "e1", seq: 4, ...more });
const queued = { client_id: "q1", text: "hello", created_at: 1, state: "waiting", seq: null };

async function survives(indexedDB) {
  const store = await open(indexedDB);
  await store.saveCopy(state());
  await store.saveQueued("c", queued);
  await store.saveDraft("c", "draft");
  await store.saveList([{ id: "c" }]);
  assert.equal(await store.loadCopy("c"), null);
  assert.deepEqual(await store.loadQueue("c"), []);
  assert.equal(await store.loadDraft("c"), "");
  assert.deepEqual(await store.loadList(), []);
  await store.dropConversation("c");
  await store.drop();
  store.close();
  return store;
}

test("keeps the folded state, the queue and the draft across pages", async () => {
  const browser = new FakeIndexedDB();
  const first = await open(browser);
  await first.saveCopy(state());
  await first.saveQueued("c", queued);
  await first.saveDraft("c", "half a sent");
  const second = await open(browser);
  assert.equal((await second.loadCopy("c")).seq, 4);
  assert.deepEqual(await second.loadQueue("c"), [queued]);
  assert.deepEqual(await second.loadQueue("other"), []);
  assert.equal(await second.loadDraft("c"), "half a sent");
  await second.dropQueued("c", "q1");
  await second.saveDraft("c", "");
  assert.deepEqual(await second.loadQueue("c"), []);
  assert.equal(await second.loadDraft("c"), "");
});

test("no IndexedDB at all", async () => {
  assert.equal((await survives(null)).durable, false);
});

test("IndexedDB that throws, fails, or never answers", async () => {
  for (const fault of ["throws", "version", "silent"]) await survives(new FakeIndexedDB({ open: fault }));
});

test("a database that was deleted while open", async () => {
  const browser = new FakeIndexedDB();
  const store = await open(browser);
  browser.db.onversionchange();
  await store.saveCopy(state());
  assert.equal(await store.loadCopy("c"), null);
  assert.equal(store.durable, false);
});

test("no room: copies are given up before a message is lost", async () => {
  let full = true;
  const browser = new FakeIndexedDB({ put: (name) => name === "queue" && full && browser.tables.get("copies").size > 0 });
  const store = await open(browser);
  await store.saveCopy(state());
  await store.saveQueued("c", queued);
  assert.deepEqual(await store.loadQueue("c"), [queued]);
  assert.equal(await store.loadCopy("c"), null);
});

test("no room for a copy, even an empty database: copies are switched off, quietly", async () => {
  let tries = 0;
  const browser = new FakeIndexedDB({ put: (name) => name === "copies" && (tries += 1) > 0 });
  const store = await open(browser);
  await store.saveCopy(state());
  await store.saveCopy(state());
  assert.equal(tries, 2);
});

test("a copy of an older shape, or of something else, is not used", async () => {
  const browser = new FakeIndexedDB();
  const store = await open(browser);
  for (const bad of [state({ version: 0 }), "text", { version: 1, conversation: "c" }, { ...state(), conversation: "d" }]) {
    browser.tables.get("copies").set("7\nc", bad);
    assert.equal(await store.loadCopy("c"), null);
  }
});

test("what another person left is cleared before anything is read", async () => {
  const browser = new FakeIndexedDB();
  const ana = await open(browser);
  await ana.saveCopy(state());
  await ana.saveQueued("c", queued);
  const eve = await open(browser, { user: "8" });
  assert.equal(await eve.loadCopy("c"), null);
  assert.deepEqual(await eve.loadQueue("c"), []);
  for (const name of ["copies", "queue", "drafts"]) assert.equal(browser.tables.get(name).size, 0, name);
});

test("signing out drops everything and tells the other tabs", async () => {
  const browser = new FakeIndexedDB();
  const here = await open(browser, { BroadcastChannel: FakeChannel });
  const there = await open(browser, { BroadcastChannel: FakeChannel });
  const heard = [];
  there.listen((said) => heard.push(said.type));
  await here.saveCopy(state());
  await here.drop();
  await here.saveCopy(state());
  assert.deepEqual(heard, ["signed-out"]);
  assert.equal(browser.tables.get("copies").size, 0);
});

test("another sign-in is heard by the tabs that are open", async () => {
  const heard = [];
  const ana = await open(null, { BroadcastChannel: FakeChannel });
  ana.listen((said) => heard.push(said));
  await open(null, { user: "8", BroadcastChannel: FakeChannel });
  assert.deepEqual(heard, [{ type: "user", user: "8" }]);
});

test("switched off, nothing is kept", async () => {
  const browser = new FakeIndexedDB();
  const store = await open(browser, { enabled: false });
  await store.saveCopy(state());
  await store.saveDraft("c", "x");
  assert.equal(browser.tables.size, 0);
});

test("only the newest copies are kept", async () => {
  const browser = new FakeIndexedDB();
  const store = await open(browser);
  for (let n = 0; n < 33; n += 1) await store.saveCopy(state({ conversation: `c${n}` }));
  assert.equal(browser.tables.get("copies").size, 30);
  assert.equal(await store.loadCopy("c0"), null);
  assert.notEqual(await store.loadCopy("c32"), null);
});
