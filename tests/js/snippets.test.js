import assert from "node:assert/strict";
import { test } from "node:test";

import { pieces, snippet } from "../../crossmemory/static/crossmemory/snippets.js";

test("a short text stands as it is, on one line", () => {
  assert.equal(snippet("  The gate\nhas a code. ", "code", 90), "The gate has a code.");
});

test("a long text is shown from a little before the first word", () => {
  const text = `${"before ".repeat(40)}the code is 7719 ${"after ".repeat(40)}`;
  const shown = snippet(text, "code", 120);
  assert.match(shown, /^….*the code is 7719.*…$/u);
  assert.equal([...shown].length <= 122, true);
});

test("without a word of it the beginning is shown, and no character is cut", () => {
  const shown = snippet("🛳️".repeat(200), "code", 10);
  assert.equal(shown.endsWith("…"), true);
  assert.equal(/[\ud800-\udbff](?![\udc00-\udfff])/u.test(shown), false);
});

test("words are marked in any form that begins as they do, whatever their case", () => {
  const hits = (/** @type {string} */ text, /** @type {string} */ words) => pieces(text, words).filter(({ hit }) => hit).map((part) => part.text);
  assert.deepEqual(hits("The dentists moved. A dentist!", "dentist"), ["dentists", "dentist"]);
  assert.deepEqual(hits("CAFÉ and café", "café"), ["CAFÉ", "café"]);
  assert.deepEqual(hits("cat concatenate", "cat"), ["cat"]);
  assert.deepEqual(hits("a.c abc", "a.c"), []);
});

test("nothing is lost by marking", () => {
  for (const words of ["", ".*", "(", "gate code", "x"]) {
    const text = "The gate (code 7719) — see x.*";
    assert.equal(pieces(text, words).map((part) => part.text).join(""), text);
  }
});
