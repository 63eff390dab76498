/**
 * The fold of tool calls and of the permissions asked for them.
 *
 * A replay shows a decision as it fell. Whether a button may still be pressed is not in the log: the
 * envelope's `pending` says it, see session.js.
 *
 * @import {Draft, Handler} from "./items.js"
 * @import {Approval, LogEvent, ToolItem} from "./types.js"
 */

/**
 * @param {Draft} draft
 * @param {string} id
 * @returns {number} -1 when unknown
 */
function findTool(draft, id) {
  return draft.items.findLastIndex((item) => item.kind === "tool" && item.id === id);
}

/**
 * Change the tool call an event names, making it when the event is the first to name it.
 * @param {Draft} draft
 * @param {LogEvent} event
 * @param {Record<string, any>} data
 * @param {globalThis.Partial<ToolItem>} changes
 */
function put(draft, event, data, changes) {
  const id = String(data.tool_call);
  const at = findTool(draft, id);
  /** @type {ToolItem} */
  const blank = {
    kind: "tool",
    key: `tool-${id}`,
    id,
    seq: event.seq,
    name: "",
    title: null,
    arguments: null,
    status: "called",
    error: null,
    run: event.run ?? null,
    at: event.at ?? null,
    approval: null,
  };
  const item = at < 0 ? blank : /** @type {ToolItem} */ (draft.items[at]);
  const next = { ...item, ...changes };
  if (at < 0) draft.items.push(next);
  else draft.items[at] = next;
}

/**
 * @param {Draft} draft
 * @param {string | null} run
 */
function isWaiting(draft, run) {
  return draft.items.some((item) => item.kind === "tool" && item.run === run && item.approval?.decision === null);
}

/**
 * Change a call that is here; one below the floor has nothing to show.
 * @param {(data: Record<string, any>) => globalThis.Partial<ToolItem>} changes
 * @returns {Handler}
 */
function known(changes) {
  return (draft, event, data) => {
    if (findTool(draft, String(data.tool_call)) >= 0) put(draft, event, data, changes(data));
  };
}

/**
 * @param {(draft: Draft) => void} nameRun  derives the run state anew
 * @returns {[string, Handler][]}
 */
export function toolHandlers(nameRun) {
  return [
    [
      "tool.called",
      (draft, event, data) => put(draft, event, data, { name: data.name ?? "", arguments: data.arguments ?? null, status: "called" }),
    ],
    ["tool.completed", known(() => ({ status: "completed", error: null }))],
    ["tool.failed", known((data) => ({ status: "failed", error: data.error ?? null }))],
    [
      "approval.requested",
      (draft, event, data) => {
        /** @type {Approval} */
        const approval = { args_hash: data.args_hash ?? "", expires_at: data.expires_at ?? null, decision: null, by: null, where: null, at: null };
        put(draft, event, data, { name: data.name ?? "", title: data.title ?? null, arguments: data.arguments ?? null, approval });
        draft.waiting = draft.active !== null;
        nameRun(draft);
      },
    ],
    [
      "approval.decided",
      (draft, event, data) => {
        const at = findTool(draft, String(data.tool_call));
        const item = at < 0 ? null : /** @type {ToolItem} */ (draft.items[at]);
        if (item?.approval) {
          const told = { decision: data.decision ?? "cancelled", by: event.actor ?? null, where: data.where ?? null, at: event.at ?? null };
          draft.items[at] = { ...item, approval: { ...item.approval, ...told } };
        }
        draft.waiting = draft.active !== null && isWaiting(draft, event.run ?? null);
        nameRun(draft);
      },
    ],
  ];
}
