/**
 * What the assistant remembers in a chat from others, as a tree of switches: surfaces, their conversations, messages.
 *
 * @import {LeaveOut, Memory} from "./types.js"
 * @import {Texts} from "./texts.js"
 */

/**
 * @typedef {object} MemoryNode  Something with a switch, and what lies in it.
 * @property {"surface" | "conversation" | "message"} kind
 * @property {string} id  alias of a surface, else a public id
 * @property {string} words
 * @property {string} note  who said it and when; or how many messages count
 * @property {boolean} out  left out by its own switch
 * @property {boolean} covered  left out with what it lies in: its own switch changes nothing
 * @property {MemoryNode[]} children
 */

/**
 * A surface with one conversation has that one's messages at once: both switches would mean the same.
 * @param {Memory} memory
 * @param {Texts} texts
 * @returns {MemoryNode[]}
 */
export function tree(memory, texts) {
  return memory.surfaces.map((surface) => {
    const conversations = surface.conversations.map((place) => conversation(place, surface.left_out, texts));
    const [only] = conversations;
    const children = only && conversations.length === 1 && !only.out ? only.children : conversations;
    return {
      kind: "surface",
      id: surface.surface,
      words: surface.label,
      note: texts.n("remembers_count", children.reduce((sum, child) => sum + counted(child), 0)),
      out: surface.left_out,
      covered: false,
      children,
    };
  });
}

/**
 * @param {Memory["surfaces"][number]["conversations"][number]} place
 * @param {boolean} covered
 * @param {Texts} texts
 * @returns {MemoryNode}
 */
function conversation(place, covered, texts) {
  const children = place.messages.map((message) => ({
    kind: /** @type {const} */ ("message"),
    id: message.id,
    words: message.text,
    note: `${texts.when(message.at)} · ${texts.t(message.role === "user" ? "you" : "assistant")}`,
    out: message.left_out,
    covered: covered || place.left_out,
    children: [],
  }));
  const node = { kind: /** @type {const} */ ("conversation"), id: place.id, words: place.title || texts.t("untitled"), note: "", out: place.left_out, covered, children };
  return { ...node, note: texts.n("remembers_count", counted(node)) };
}

/**
 * How many messages of a node count here.
 * @param {Omit<MemoryNode, "note">} node
 * @returns {number}
 */
export function counted(node) {
  if (node.out || node.covered) return 0;
  return node.kind === "message" ? 1 : node.children.reduce((sum, child) => sum + counted(child), 0);
}

/**
 * @param {MemoryNode} node
 * @param {boolean} out
 * @returns {LeaveOut}
 */
export function change(node, out) {
  return /** @type {LeaveOut} */ ({ [node.kind]: node.id, left_out: out });
}
