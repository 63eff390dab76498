import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { isolate, Texts } from "../../crossmemory/static/crossmemory/texts.js";

const APP = new URL("../../crossmemory/", import.meta.url);
const STATIC = new URL("static/crossmemory/", APP);
const source = readdirSync(STATIC)
  .filter((name) => name.endsWith(".js"))
  .map((name) => readFileSync(new URL(name, STATIC), "utf8"))
  .join("\n");
const keys = [...readFileSync(new URL("text.py", APP), "utf8").matchAll(/^ {4}"([a-z_]+)": _\(/gm)].map((found) => found[1]);

test("every string the modules ask for exists", () => {
  const missing = [];
  for (const [, key] of source.matchAll(/\.t\(\s*"([a-z_]+)"/g)) if (!keys.includes(key)) missing.push(key);
  for (const [, one, two] of source.matchAll(/\.t\([^()"]*\? "([a-z_]+)" : "([a-z_]+)"/g)) {
    for (const key of [one, two]) if (!keys.includes(key)) missing.push(key);
  }
  for (const [, key] of source.matchAll(/\.n\(\s*"([a-z_]+)"/g)) {
    for (const form of ["one", "other"]) if (!keys.includes(`${key}_${form}`)) missing.push(`${key}_${form}`);
  }
  assert.deepEqual(missing, []);
});

test("every string is used", () => {
  const families = /^(state|run|reason|refused|interrupted|notice|sharing|decided|steer)_/;
  const unused = keys.filter((key) => {
    const plural = key.replace(/_(one|other)$/, "");
    return !source.includes(`"${key}"`) && !source.includes(`"${plural}"`) && !families.test(key) && key !== "needs_script";
  });
  assert.deepEqual(unused, []);
});

test("fills in values, and leaves what it does not know", () => {
  const texts = new Texts({ hello: "Hello {name}, {other}", n_one: "{count} one", n_other: "{count} more" });
  assert.equal(texts.t("hello", { name: "Ana" }), "Hello Ana, {other}");
  assert.equal(texts.t("unknown"), "unknown");
  assert.deepEqual([texts.n("n", 1), texts.n("n", 0), texts.n("n", 5)], ["1 one", "0 more", "5 more"]);
});

test("a name cannot fill in a value or turn the sentence round", () => {
  const texts = new Texts({ hello: "{name} on {label}" });
  assert.equal(texts.t("hello", { name: "{label}", label: "x" }), "{label} on x");
  assert.equal(isolate("\u202eadmin\u2069"), "\u2068admin\u2069");
});

test("days and times are the reader's", () => {
  const at = "2026-11-30T23:30:00.123456Z";
  const athens = new Texts({}, "en-GB", "Europe/Athens");
  assert.equal(athens.time(at), "01:30");
  assert.equal(athens.dayKey(at), "2026-12-01");
  assert.equal(new Texts({}, "en-GB", "America/Lima").dayKey(at), "2026-11-30");
  assert.equal(new Texts({}, "en-GB", "No/Where").time("nonsense"), "");
  assert.equal(athens.time(null), "");
});
