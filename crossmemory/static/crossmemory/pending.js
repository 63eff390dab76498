/**
 * A bubble that the server has not confirmed yet.
 *
 * @import {MessageTools} from "./message.js"
 * @import {QueueItem} from "./types.js"
 * @import {Texts} from "./texts.js"
 */

import { h } from "./dom.js";
import { isolate } from "./texts.js";

/**
 * A message of the queue. It stands outside the ordered list, and says what it waits for.
 * @param {QueueItem} item
 * @param {MessageTools} tools
 * @param {boolean} online
 * @returns {HTMLElement}
 */
export function pendingElement(item, tools, online) {
  const { texts } = tools;
  const retry = () => tools.onRetry(item.client_id);
  const discard = () => tools.onDiscard(item.client_id);
  const refused = item.state === "refused";
  const asks = refused || item.state === "asking" || item.state === "late";
  return h(
    "article",
    {
      class: "cm-message cm-mine cm-pending",
      "data-cm": "pending",
      "data-client-id": item.client_id,
      "data-state": item.state,
    },
    h("span", { class: "cm-hidden" }, texts.t("you_said")),
    item.files && h("ul", { class: "cm-picked", "data-cm": "pending-files" }, item.files.map(({ name }) => h("li", {}, h("bdi", { class: "cm-file-name" }, name)))),
    item.text.trim() !== "" && h("div", { class: "cm-body cm-text", dir: "auto", "data-cm": "text" }, item.text),
    h("footer", { class: refused ? "cm-meta cm-bad" : "cm-meta" }, h("span", {}, waitsFor(item, texts, online))),
    asks &&
      h(
        "div",
        { class: "cm-actions" },
        h("button", { type: "button", class: "cm-quiet", "data-cm": "retry", onclick: retry }, texts.t(item.state === "asking" ? "send_now" : "try_again")),
        item.state !== "late" &&
          h("button", { type: "button", class: "cm-quiet", "data-cm": "discard", onclick: discard }, texts.t("edit_or_drop")),
      ),
  );
}

/**
 * @param {QueueItem} item
 * @param {Texts} texts
 * @param {boolean} online
 */
function waitsFor(item, texts, online) {
  switch (item.state) {
    case "refused": {
      const known = `refused_${item.code ?? ""}`;
      const why = known in texts.strings ? texts.t(known, { time: texts.when(item.resets_at) }) : (item.detail ?? item.code ?? "");
      return texts.t("not_sent", { why: isolate(why) });
    }
    case "asking":
      return texts.t("asks_first", { time: texts.when(new Date(item.created_at).toISOString()) });
    case "uploading":
      return texts.t("uploading", { share: Math.round((item.progress ?? 0) * 100) });
    case "late":
      return texts.t("not_confirmed");
    default:
      return texts.t(online ? "sending" : "waits_for_network");
  }
}
