/**
 * The parts of the page in their places: the list, the line above, the conversation, where one writes, and
 * the notes between them. It draws what it is given and decides nothing.
 *
 * @import {Conversation} from "./types.js"
 * @import {Directory} from "./directory.js"
 * @import {Session} from "./session.js"
 * @import {Texts} from "./texts.js"
 */

import { Composer } from "./composer.js";
import { h } from "./dom.js";
import { Header } from "./header.js";
import { ChatList } from "./list.js";
import { emptyPlace, keepOutSwitch, readOnlyPlace } from "./places.js";
import { Timeline } from "./timeline.js";

/** Milliseconds without a connection after which the page says what that means for what is written. */
const OFFLINE_AFTER = 2_000;

/**
 * @typedef {object} Parts  What each part tells the page.
 * @property {import("./list.js").ListActions} list
 * @property {Omit<import("./header.js").HeaderActions, "onChats">} header
 * @property {import("./message.js").MessageTools} tools
 * @property {import("./timeline.js").TimelineActions} timeline
 * @property {import("./composer.js").ComposerActions} composer
 *
 * @typedef {object} Model
 * @property {Session | null} session
 * @property {Conversation | null} chat
 * @property {Directory} directory
 * @property {boolean} busy  a run is queued or at work
 */

export class Shell {
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #offlineSoon;

  /**
   * @param {HTMLElement} host
   * @param {Texts} texts
   * @param {Parts} parts
   * @param {import("./types.js").Limits} limits
   */
  constructor(host, texts, parts, limits) {
    this.host = host;
    this.texts = texts;
    this.list = new ChatList(texts, parts.list);
    this.header = new Header(texts, { ...parts.header, onChats: () => this.showSide(!this.sideIsOpen) });
    this.timeline = new Timeline(parts.tools, parts.timeline);
    this.composer = new Composer(texts, parts.composer, limits);
    this.offline = h("p", { class: "cm-offline", role: "status", "data-cm": "offline", hidden: true }, texts.t("offline"));
    this.budget = h("p", { class: "cm-note", role: "status", "data-cm": "budget", hidden: true });
    this.paused = h("p", { class: "cm-paused", role: "status", "data-cm": "paused", hidden: true });
    this.readOnly = h("div", { class: "cm-readonly", "data-cm": "read-only", hidden: true });
    this.problem = h("p", { class: "cm-note cm-problem", role: "alert", "data-cm": "problem", hidden: true });
    const { header, problem, timeline, offline, budget, paused, readOnly, composer } = this;
    this.main = h("section", { class: "cm-main" }, header.element, problem, timeline.element, paused, offline, budget, readOnly, composer.element);
  }

  appear() {
    this.host.replaceChildren(this.list.element, this.main);
  }

  close() {
    clearTimeout(this.#offlineSoon);
  }

  /**
   * @param {Model} model
   * @param {() => void} onContinue  go on in a chat of this page
   */
  draw({ session, chat, directory, busy }, onContinue) {
    const { texts } = this;
    const { conversations, accounts, surfaces, status, next } = directory;
    this.list.show({ conversations, current: session?.conversation ?? null, accounts, surfaces, more: next !== null, status });
    const title = session ? chat?.title || session.view.title || texts.t("untitled") : texts.t("new_chat_title");
    this.header.show({ conversation: session ? chat : null, title, link: session?.link ?? null, code: session?.code ?? null });
    const elsewhere = chat?.read_only ?? false;
    this.composer.element.hidden = elsewhere;
    this.composer.setBusy(busy);
    if (elsewhere && chat && this.readOnly.dataset["id"] !== chat.id) {
      this.readOnly.dataset["id"] = chat.id;
      this.readOnly.replaceChildren(...readOnlyPlace(texts, chat, onContinue));
    }
    this.readOnly.hidden = !elsewhere;
    const paused = (session && chat?.paused) ?? "";
    this.paused.hidden = paused === "";
    if (this.paused.textContent !== paused) this.paused.textContent = paused;
    this.#drawOffline(session);
    this.#drawBudget(session?.budget ?? null);
  }

  /**
   * @param {Model} model
   * @param {boolean} shared  what a chat that does not exist yet will be
   * @param {(shared: boolean) => void} onShared
   * @param {(surface: string) => void} onAccount
   */
  drawEmpty({ session, chat, directory }, shared, onShared, onAccount) {
    const { conversations, surfaces, accounts, status } = directory;
    const first = status === "ready" && conversations.length === 0;
    const lines = emptyPlace(this.texts, { chat, first, surfaces, accounts }, onAccount);
    if (!session) lines.push(keepOutSwitch(this.texts, !shared, (out) => onShared(!out)));
    this.timeline.empty.replaceChildren(...lines);
    if (!session) this.timeline.empty.hidden = false;
  }

  /** @param {string} problem  empty takes it away */
  say(problem) {
    this.problem.hidden = problem === "";
    this.problem.textContent = problem;
  }

  get sideIsOpen() {
    return this.host.dataset["side"] === "open";
  }

  /** @param {boolean} open  the list, where it lies over the conversation */
  showSide(open) {
    const was = this.sideIsOpen;
    this.host.dataset["side"] = open ? "open" : "closed";
    this.header.chats.setAttribute("aria-expanded", String(open));
    if (open) this.list.fresh.focus();
    else if (was) this.header.chats.focus();
  }

  /** @param {import("./types.js").Budget | null} budget */
  #drawBudget(budget) {
    const low = budget !== null && new Date(budget.resets_at).getTime() > Date.now();
    this.budget.hidden = !low;
    if (!low) return;
    const time = this.texts.when(budget.resets_at);
    const left = budget.messages_left;
    this.budget.textContent = left === null ? this.texts.t("budget_low", { time }) : this.texts.n("budget_messages", left, { time });
  }

  /**
   * A blink of the network is not worth a word.
   * @param {Session | null} session
   */
  #drawOffline(session) {
    if (session === null || session.link === "online" || session.link === "final") {
      clearTimeout(this.#offlineSoon);
      this.#offlineSoon = undefined;
      this.offline.hidden = true;
    } else {
      this.#offlineSoon ??= setTimeout(() => (this.offline.hidden = false), OFFLINE_AFTER);
    }
  }
}
