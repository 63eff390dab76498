/**
 * What was said on other surfaces and is in play although no answer here has counted it yet.
 *
 * @import {Context, Elsewhere, Item} from "./types.js"
 */

/**
 * When this person last wrote here: what was said elsewhere before that, an answer has told of.
 * @param {readonly Item[]} items
 * @returns {string} ISO 8601, or nothing when they never did
 */
export function lastWritten(items) {
  return items.findLast((item) => item.kind === "message" && item.role === "user")?.at ?? "";
}

/**
 * @param {Context} context  what the assistant would see now
 * @param {readonly Item[]} items  of the conversation that is open
 * @param {string} surface  of that conversation
 * @returns {Elsewhere[]} one for each other surface, with the number of its messages
 */
export function elsewhereSince(context, items, surface) {
  const after = lastWritten(items);
  /** @type {Map<string, Elsewhere>} */
  const found = new Map();
  for (const message of context.messages) {
    if (message.own || message.surface === surface || message.at <= after) continue;
    const known = found.get(message.surface);
    if (known) known.count += 1;
    else found.set(message.surface, { surface: message.surface, label: message.surface_label, count: 1, since: message.at });
  }
  return [...found.values()];
}
