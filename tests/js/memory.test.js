import assert from "node:assert/strict";
import { test } from "node:test";

import { change, counted, tree } from "../../crossmemory/static/crossmemory/memory.js";
import { Texts } from "../../crossmemory/static/crossmemory/texts.js";

const texts = new Texts(
  { remembers_count_one: "{count} message counts", remembers_count_other: "{count} messages count", you: "You", assistant: "Assistant", untitled: "Untitled" },
  "en",
  "UTC",
);
const said = (id, more = {}) => ({ id, role: "user", text: `words of ${id}`, at: "2020-11-30T10:02:00Z", left_out: false, ...more });
const place = (id, messages, more = {}) => ({ id, title: `Chat ${id}`, left_out: false, messages, ...more });
const surface = (alias, conversations, more = {}) => ({ surface: alias, label: alias.toUpperCase(), left_out: false, conversations, ...more });
const memory = (...surfaces) => ({ reads: true, surfaces });
const shape = (nodes) => nodes.map((node) => [node.kind, node.id, ...(node.children.length > 0 ? [shape(node.children)] : [])]);
const messages = (nodes) => nodes.flatMap((node) => (node.kind === "message" ? [node] : messages(node.children)));

test("the one conversation of a surface has no switch of its own, several have", () => {
  const one = tree(memory(surface("telegram", [place("t", [said("m1"), said("m2")])])), texts);
  assert.deepEqual(shape(one), [["surface", "telegram", [["message", "m1"], ["message", "m2"]]]]);
  const two = tree(memory(surface("web", [place("a", [said("m1")]), place("b", [said("m2")])])), texts);
  assert.deepEqual(shape(two), [["surface", "web", [["conversation", "a", [["message", "m1"]]], ["conversation", "b", [["message", "m2"]]]]]]);
});

test("a conversation that is left out keeps its switch, also when it is the only one", () => {
  const [node] = tree(memory(surface("telegram", [place("t", [said("m1")], { left_out: true })])), texts);
  assert.deepEqual(shape([node]), [["surface", "telegram", [["conversation", "t", [["message", "m1"]]]]]]);
  assert.deepEqual(messages([node]).map((each) => [each.out, each.covered]), [[false, true]]);
});

test("what lies in something left out counts no more, and its own switch changes nothing", () => {
  const shown = surface("telegram", [place("t", [said("m1"), said("m2", { left_out: true })])]);
  const [on] = tree(memory(shown), texts);
  assert.equal(counted(on), 1);
  assert.equal(on.note, "1 message counts");
  const [off] = tree(memory({ ...shown, left_out: true }), texts);
  assert.equal(counted(off), 0);
  assert.equal(off.note, "0 messages count");
  assert.deepEqual(messages([off]).map((each) => [each.out, each.covered]), [[false, true], [true, true]]);
});

test("who said it and when stands beside the words", () => {
  const [node] = tree(memory(surface("telegram", [place("t", [said("m1"), said("m2", { role: "assistant" })], { title: "" })])), texts);
  assert.deepEqual(messages([node]).map((each) => each.note.replace(/ /g, " ")), ["Nov 30, 10:02 AM · You", "Nov 30, 10:02 AM · Assistant"]);
});

test("a surface that is left out and said nothing can be switched on again", () => {
  const [node] = tree(memory(surface("telegram", [], { left_out: true })), texts);
  assert.deepEqual([node.out, node.children, node.note], [true, [], "0 messages count"]);
});

test("a switch names what it is about", () => {
  const [node] = tree(memory(surface("web", [place("a", [said("m1")]), place("b", [])])), texts);
  assert.deepEqual(change(node, true), { surface: "web", left_out: true });
  assert.deepEqual(change(node.children[0], false), { conversation: "a", left_out: false });
  assert.deepEqual(change(node.children[0].children[0], true), { message: "m1", left_out: true });
});
