/**
 * Places without messages: each says what it is for and offers the next step.
 *
 * @import {Account, Conversation, Surface} from "./types.js"
 * @import {Texts} from "./texts.js"
 */

import { webAddress } from "./accounts.js";
import { h } from "./dom.js";

/**
 * @param {Texts} texts
 * @param {object} model
 * @param {Conversation | null} model.chat
 * @param {boolean} model.first  this person has no chats at all
 * @param {readonly Surface[]} model.surfaces
 * @param {readonly Account[]} model.accounts
 * @param {(surface: string) => void} onAccount
 * @returns {HTMLElement[]}
 */
export function emptyPlace(texts, { chat, first, surfaces, accounts }, onAccount) {
  if (chat?.read_only) return [h("p", {}, texts.t("empty_elsewhere", { label: chat.surface_label }))];
  /** @type {HTMLElement[]} */
  const lines = [h("p", {}, texts.t(first ? "no_chats" : "empty_chat"))];
  for (const { alias, label, connectable } of surfaces) {
    if (!connectable || accounts.some((account) => account.surface === alias)) continue;
    lines.push(
      h("p", { class: "cm-soft" }, texts.t("not_connected", { label })),
      h("button", { type: "button", class: "cm-quiet", onclick: () => onAccount(alias) }, texts.t("connect_surface", { label })),
    );
  }
  return lines;
}

/**
 * In place of the composer, under a conversation that belongs to another surface.
 * @param {Texts} texts
 * @param {Conversation} chat
 * @param {() => void} onContinue
 * @returns {HTMLElement[]}
 */
export function readOnlyPlace(texts, chat, onContinue) {
  const label = chat.surface_label;
  return [
    h("p", {}, texts.t("read_only", { label })),
    h(
      "div",
      { class: "cm-actions" },
      h("button", { type: "button", class: "cm-strong", "data-cm": "continue-here", onclick: onContinue }, texts.t("continue_here")),
      chat.open_url && h("a", { class: "cm-quiet", href: webAddress(chat.open_url), target: "_blank", rel: "noopener", "data-cm": "open-surface" }, texts.t("open_surface", { label })),
    ),
  ];
}

/**
 * The switch of a chat that does not exist yet.
 * @param {Texts} texts
 * @param {boolean} out
 * @param {(out: boolean) => void} onSwitch
 * @returns {HTMLElement}
 */
export function keepOutSwitch(texts, out, onSwitch) {
  const button = h("button", { type: "button", role: "switch", class: "cm-quiet cm-switch", "aria-checked": String(out), "data-cm": "keep-out-new" }, texts.t("keep_out"));
  button.addEventListener("click", () => {
    const now = button.getAttribute("aria-checked") !== "true";
    button.setAttribute("aria-checked", String(now));
    onSwitch(now);
  });
  return button;
}

/**
 * @param {Texts} texts
 * @param {"signed_out" | "other_sign_in"} why
 * @param {string} login  address of the sign-in page
 * @returns {HTMLElement}
 */
export function signedOutPlace(texts, why, login) {
  const here = encodeURIComponent(location.pathname + location.search);
  const again = why === "other_sign_in";
  return h(
    "section",
    { class: "cm-signed-out", "data-cm": "signed-out" },
    h("p", {}, texts.t(why)),
    again && h("button", { type: "button", class: "cm-strong", "data-cm": "reload", onclick: () => location.reload() }, texts.t("reload")),
    !again && login && h("a", { class: "cm-strong", href: `${login}?next=${here}`, "data-cm": "sign-in" }, texts.t("sign_in")),
  );
}
