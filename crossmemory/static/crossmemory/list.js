/**
 * The list of chats, and below it the other places where the same person talks to the assistant.
 *
 * @import {Account, Conversation, Surface} from "./types.js"
 * @import {Entry} from "./dom.js"
 * @import {Texts} from "./texts.js"
 */

import { h, Keyed } from "./dom.js";
import { chip } from "./saw.js";

/**
 * @typedef {object} ListActions
 * @property {(id: string) => void} onOpen
 * @property {() => void} onNew
 * @property {() => void} onSearch
 * @property {(surface: string) => void} onAccount
 * @property {() => void} onMore
 *
 * @typedef {object} ListModel
 * @property {readonly Conversation[]} conversations
 * @property {string | null} current
 * @property {readonly Account[]} accounts
 * @property {readonly Surface[]} surfaces
 * @property {boolean} more
 * @property {"loading" | "ready" | "failed"} status
 */

export class ChatList {
  /**
   * @param {Texts} texts
   * @param {ListActions} actions
   */
  constructor(texts, actions) {
    this.texts = texts;
    this.actions = actions;
    this.fresh = h("button", { type: "button", class: "cm-new", "data-cm": "new-chat", onclick: () => actions.onNew() }, texts.t("new_chat"));
    this.search = h("button", { type: "button", class: "cm-new", "data-cm": "search-open", onclick: () => actions.onSearch() }, texts.t("search"));
    this.nav = h("nav", { class: "cm-list", "aria-label": texts.t("chats"), "data-cm": "list" });
    this.element = h("aside", { class: "cm-side", "data-cm": "side" }, h("div", { class: "cm-side-head" }, this.fresh, this.search), this.nav);
    this.rows = new Keyed(this.nav);
  }

  /** @param {ListModel} model */
  show(model) {
    const { texts } = this;
    const here = model.conversations.filter((chat) => !elsewhere(chat));
    const there = model.conversations.filter(elsewhere);
    /** @type {Entry[]} */
    const entries = here.map((chat) => this.#chat(chat, model.current));
    if (here.length === 0) {
      const word = texts.t(model.status === "ready" ? "no_chats" : model.status === "failed" ? "list_failed" : "loading");
      entries.push({ key: "none", same: [word], make: () => h("p", { class: "cm-hint", "data-cm": "no-chats" }, word) });
    }
    if (model.more) {
      entries.push({ key: "more", same: [], make: () => h("button", { type: "button", class: "cm-item cm-soft", "data-cm": "more-chats", onclick: () => this.actions.onMore() }, texts.t("more_chats")) });
    }
    const places = [...there.map((chat) => this.#chat(chat, model.current)), ...this.#accounts(model)];
    if (places.length > 0) {
      entries.push({ key: "places", same: [], make: () => h("h2", {}, texts.t("other_places")) }, ...places);
    }
    this.rows.show(entries);
  }

  /**
   * @param {Conversation} chat
   * @param {string | null} current
   * @returns {Entry}
   */
  #chat(chat, current) {
    const { texts } = this;
    const active = chat.id === current;
    const unread = active ? 0 : chat.unread;
    return {
      key: chat.id,
      same: [chat.title, chat.shared, chat.surface_label, unread, active],
      make: () =>
        h(
          "button",
          {
            type: "button",
            class: "cm-item",
            "data-cm": "conversation",
            "data-id": chat.id,
            "data-surface": chat.surface,
            "aria-current": active ? "page" : null,
            onclick: () => this.actions.onOpen(chat.id),
          },
          h("span", { class: "cm-item-title" }, h("bdi", {}, chat.title || texts.t("untitled"))),
          !chat.shared && h("small", { class: "cm-soft" }, texts.t("not_remembered")),
          elsewhere(chat) && chip(chat.surface_label, chat.surface),
          unread > 0 && h("span", { class: "cm-badge", "data-cm": "unread-count", "aria-label": texts.n("unread", unread) }, unread),
        ),
      // The row that was just clicked or reached by keyboard keeps its focus.
      update: (element, before) => {
        if (before.slice(0, 4).some((value, i) => value !== [chat.title, chat.shared, chat.surface_label, unread][i])) return false;
        if (active) element.setAttribute("aria-current", "page");
        else element.removeAttribute("aria-current");
        return true;
      },
    };
  }

  /**
   * @param {ListModel} model
   * @returns {Entry[]}
   */
  #accounts({ accounts, surfaces }) {
    const { texts } = this;
    return surfaces
      .filter((surface) => surface.connectable)
      .map((surface) => {
        const mine = accounts.filter((account) => account.surface === surface.alias);
        const asking = mine.some((account) => account.status === "pending");
        const key = asking ? "confirm_surface" : mine.length > 0 ? "manage_surface" : "connect_surface";
        return {
          key: `account-${surface.alias}`,
          same: [key, surface.label],
          make: () =>
            h(
              "button",
              {
                type: "button",
                class: mine.length > 0 && !asking ? "cm-item cm-soft" : "cm-item",
                "data-cm": "connect",
                "data-surface": surface.alias,
                "data-status": asking ? "pending" : mine.length > 0 ? "active" : "none",
                onclick: () => this.actions.onAccount(surface.alias),
              },
              h("span", { class: "cm-item-title" }, texts.t(key, { label: surface.label })),
              asking && h("span", { class: "cm-badge" }, "1"),
            ),
        };
      });
  }
}

/** @param {Conversation} chat */
function elsewhere(chat) {
  return chat.singleton || chat.read_only;
}
