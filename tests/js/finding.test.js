import assert from "node:assert/strict";
import { test } from "node:test";

import { Finder } from "../../crossmemory/static/crossmemory/finding.js";

/** A chat whose messages are read back page by page, newest first. */
function place({ held = [9, 10], before = 9, complete = true, fails = false } = {}) {
  const seen = { revealed: [], gone: 0, asked: 0 };
  const session = {
    conversation: "c",
    complete,
    loadingEarlier: false,
    view: { before: /** @type {number | null} */ (before) },
    async loadEarlier() {
      seen.asked += 1;
      if (fails) throw new Error("offline");
      const from = /** @type {number} */ (session.view.before);
      held.unshift(from - 2, from - 1);
      session.view.before = from - 2 > 1 ? from - 2 : null;
      finder.look();
    },
  };
  const finder = new Finder({
    timeline: /** @type {any} */ ({ reveal: (/** @type {string} */ id) => held.includes(Number(id)) && Boolean(seen.revealed.push(/** @type {never} */ (id))) }),
    session: () => /** @type {any} */ (session),
    open: async () => {},
    attempt: (act) => act().then(() => true, () => false),
    gone: () => (seen.gone += 1),
  });
  const go = (/** @type {number} */ seq) => finder.go(/** @type {any} */ ({ conversation: "c", id: String(seq), seq }));
  return { finder, session, seen, go, settle: () => new Promise((resolve) => setTimeout(resolve, 5)) };
}

test("what is held is shown at once", async () => {
  const { go, seen } = place();
  await go(10);
  assert.deepEqual(seen, { revealed: ["10"], gone: 0, asked: 0 });
});

test("the chat is read back until the message is there, and no farther", async () => {
  const { go, seen, settle } = place();
  await go(5);
  await settle();
  assert.deepEqual(seen, { revealed: ["5"], gone: 0, asked: 2 });
});

test("what is no longer there is said once", async () => {
  const { go, seen, settle, finder } = place({ held: [8, 10] });
  await go(9);
  await settle();
  finder.look();
  assert.deepEqual(seen, { revealed: [], gone: 1, asked: 0 });
});

test("nothing is looked for before the log is here", async () => {
  const { go, seen, session, finder } = place({ complete: false });
  await go(10);
  assert.equal(seen.revealed.length, 0);
  session.complete = true;
  finder.look();
  assert.deepEqual(seen.revealed, ["10"]);
});

test("who opens another chat meanwhile is left alone", async () => {
  const { go, seen, session, finder } = place({ complete: false });
  await go(10);
  session.conversation = "other";
  session.complete = true;
  finder.look();
  session.conversation = "c";
  finder.look();
  assert.equal(seen.revealed.length, 0);
});

test("a page that does not come ends the way, and is asked for once", async () => {
  const { go, seen, settle, finder } = place({ fails: true });
  await go(2);
  await settle();
  finder.look();
  await settle();
  assert.deepEqual(seen, { revealed: [], gone: 0, asked: 1 });
});
