/**
 * Which permissions this page may give now, and how its own answers fare.
 *
 * A button is armed for exactly what the last batch of a replay names as open and for what arrives live:
 * what an older copy or a replayed event asks for may long be decided.
 *
 * @import {Batch, LogEvent, State, ToolItem, Verdict} from "./types.js"
 */

export class Permits {
  /** @type {Set<string>} */ #armed = new Set();
  /** @type {Map<string, Verdict>} */ #verdicts = new Map();

  /** @param {Batch} batch  the last one of a replay */
  rearm(batch) {
    this.#armed.clear();
    for (const open of batch.pending ?? []) if (open.type === "approval" && open.tool_call) this.#armed.add(open.tool_call);
    // An answer that got none is asked for again: deciding twice is harmless, the first one counts.
    for (const [id, verdict] of this.#verdicts) if (verdict.state === "sending") this.#verdicts.delete(id);
  }

  /** @param {LogEvent} event  a live one */
  hear({ type, data }) {
    const id = String(data?.["tool_call"] ?? "");
    if (type === "approval.requested") this.#armed.add(id);
    if (type !== "approval.decided") return;
    this.#armed.delete(id);
    if (this.#verdicts.get(id)?.state === "sending") this.#verdicts.delete(id);
  }

  /** Nothing can be decided while the state is unknown. */
  disarm() {
    this.#armed.clear();
  }

  /**
   * @param {ToolItem} item
   * @returns {boolean}
   */
  isArmed(item) {
    return item.approval?.decision === null && this.#armed.has(item.id);
  }

  /**
   * @param {string} id
   * @returns {Verdict | null}
   */
  verdict(id) {
    return this.#verdicts.get(id) ?? null;
  }

  /**
   * @param {string} id
   * @param {Verdict} verdict
   */
  set(id, verdict) {
    this.#verdicts.set(id, verdict);
  }

  /**
   * The server did not take the answer.
   * @param {string} id
   * @param {Record<string, any>} refusal  the nack
   */
  refuse(id, refusal) {
    const late = refusal["code"] === "already_decided";
    if (late) this.#armed.delete(id);
    this.#verdicts.set(id, {
      state: late ? "late" : "refused",
      decision: refusal["decision"] ?? null,
      code: refusal["code"] ?? "",
      detail: refusal["detail"] ?? "",
      by: refusal["by"] ?? null,
      where: refusal["where"] ?? null,
      at: refusal["at"] ?? null,
    });
  }
}

/**
 * @param {State} state
 * @param {string} id
 * @returns {ToolItem | null}
 */
export function toolOf(state, id) {
  const found = state.items.find((item) => item.kind === "tool" && item.id === id);
  return found?.kind === "tool" ? found : null;
}
