/**
 * The conversation as it is read: days, messages, what waits, and where the reader stands in it.
 *
 * @import {Item} from "./types.js"
 * @import {News} from "./entries.js"
 * @import {MessageTools} from "./message.js"
 * @import {Session} from "./session.js"
 */

import { h, Keyed } from "./dom.js";
import { isToldBy, logEntries, tailEntries } from "./entries.js";
import { Reader } from "./scroll.js";

/** Items drawn at first and added by each "load earlier". */
const PAGE = 120;

/** Milliseconds for which a message that was searched for is marked. */
const REVEALED = 3_000;

/**
 * @typedef {object} TimelineActions
 * @property {() => void} onEarlier  older messages are wanted from the server
 */

export class Timeline {
  #limit = PAGE;
  #pinned = true;
  #fetching = false;
  /** @type {number | null} */ #unreadFrom = null;
  #unreadKnown = false;
  /** @type {News[]} */ #now = [];

  /**
   * @param {MessageTools} tools
   * @param {TimelineActions} actions
   */
  constructor(tools, actions) {
    this.tools = tools;
    this.actions = actions;
    const { texts } = tools;
    this.earlier = h("button", { type: "button", class: "cm-earlier", "data-cm": "earlier", hidden: true, onclick: () => this.#showEarlier() }, texts.t("load_earlier"));
    this.empty = h("div", { class: "cm-empty", "data-cm": "empty", hidden: true });
    this.log = h("div", { class: "cm-items", role: "log", "aria-live": "polite", "aria-label": texts.t("conversation"), "data-cm": "messages" });
    this.tail = h("div", { class: "cm-items cm-tail" });
    this.newest = h("button", { type: "button", class: "cm-newest", "data-cm": "newest", hidden: true, onclick: () => this.reader.toEnd() }, texts.t("newest"));
    this.scroller = h("div", { class: "cm-scroll", tabindex: "0", "aria-label": texts.t("conversation"), role: "region", "data-cm": "scroll" }, this.earlier, this.empty, this.log, this.tail);
    this.element = h("div", { class: "cm-log" }, this.scroller, this.newest);
    this.items = new Keyed(this.log);
    this.waiting = new Keyed(this.tail);
    /** @type {Session | null} */
    this.session = null;
    this.reader = new Reader(this.scroller, this.log, this.newest);
  }

  /**
   * Start over with another conversation.
   * @param {Session | null} session
   */
  attach(session) {
    this.session = session;
    this.#limit = PAGE;
    this.#pinned = true;
    this.#fetching = false;
    this.reader.reset();
    this.#unreadFrom = null;
    this.#unreadKnown = false;
    this.#now = [];
    this.items.show([]);
    this.waiting.show([]);
    this.earlier.hidden = this.empty.hidden = true;
  }

  /**
   * What would be in play if the person wrote now.
   * @param {News[]} now
   */
  setElsewhere(now) {
    this.#now = now;
    this.update();
  }

  /**
   * Draw what there is now. Who is at the end stays there, whether the news is live or the replay after a
   * reconnect; who reads above is never moved, unless they just sent something themselves.
   * @param {object} [change]
   * @param {boolean} [change.own]  the person just sent something
   * @param {number} [change.readSeq]
   */
  update({ own = false, readSeq = 0 } = {}) {
    const { session, tools } = this;
    if (!session) return;
    const { view } = session;
    if (session.complete && !this.#unreadKnown) this.#findUnread(view.items, readSeq);
    // Earlier messages were asked for: the reader looks there, also when everything fits the page.
    const above = this.#fetching || session.loadingEarlier;
    this.#fetching = session.loadingEarlier;
    const stay = own || this.#pinned || (this.reader.isAtEnd() && !above);
    // Who is back at the end is done with what was loaded above: the page stays as quick as it was.
    if (stay && !this.log.contains(document.activeElement)) this.#limit = PAGE;
    const all = this.#items();
    const shown = all.slice(Math.max(0, all.length - this.#limit));
    const release = this.reader.hold();
    this.log.setAttribute("aria-busy", String(!session.complete));
    this.items.show(logEntries(shown, session, tools, this.#unreadFrom));
    this.waiting.show(tailEntries(session, tools, this.#now));
    this.#drawEarlier(all.length > shown.length || (session.complete && view.before !== null));
    this.empty.hidden = !session.complete || all.length > 0 || session.queue.items.length > 0;
    if (stay) this.reader.toEnd();
    else release();
    if (this.#pinned && session.complete) this.#settle();
    this.reader.look();
  }

  /** What stands in the log, in order. */
  #items() {
    const items = this.session?.view.items ?? [];
    return items.filter((item) => !isToldBy(item, items));
  }

  /**
   * Bring a message into view and mark it for a moment, if it is held.
   * @param {string} id
   * @returns {boolean}
   */
  reveal(id) {
    const items = this.#items();
    const at = items.findIndex((item) => item.kind === "message" && item.id === id);
    const item = items[at];
    if (!item) return false;
    this.#limit = Math.max(this.#limit, items.length - at + PAGE / 2);
    this.#pinned = false;
    this.#fetching = true; // the reader looks above
    this.update();
    const element = this.items.get(item.key);
    if (!element) return false;
    element.scrollIntoView({ block: "center" });
    element.tabIndex = -1;
    element.focus({ preventScroll: true });
    element.classList.add("cm-revealed");
    setTimeout(() => element.classList.remove("cm-revealed"), REVEALED);
    return true;
  }

  /** The first replay is over: from here on the reader moves, not the page. */
  #settle() {
    this.#pinned = false;
    const mark = this.items.get("unread");
    if (mark && mark.offsetTop < this.scroller.scrollTop) this.scroller.scrollTop = mark.offsetTop - 16;
  }

  #showEarlier() {
    const held = this.session?.view.items.length ?? 0;
    const hidden = held > this.#limit;
    this.#limit += PAGE;
    this.#fetching = hidden;
    if (hidden) this.update();
    else this.actions.onEarlier();
  }

  /** @param {boolean} more */
  #drawEarlier(more) {
    this.earlier.hidden = !more;
    const loading = this.session?.loadingEarlier ?? false;
    this.earlier.disabled = loading;
    this.earlier.textContent = this.tools.texts.t(loading ? "loading" : "load_earlier");
  }

  /**
   * @param {readonly Item[]} items
   * @param {number} readSeq
   */
  #findUnread(items, readSeq) {
    this.#unreadKnown = true;
    const first = items.find((item) => item.seq > readSeq && item.kind === "message" && item.role !== "user");
    if (first && readSeq > 0) this.#unreadFrom = first.seq;
  }
}
