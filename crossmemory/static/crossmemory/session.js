/**
 * One open conversation: its connection, its folded state, its queue and its local copy, tied together.
 *
 * Usable without the element: give it callbacks and draw what it holds.
 *
 * @import {Api} from "./api.js"
 * @import {Store} from "./store.js"
 * @import {Batch, LinkState, QueueItem, State} from "./types.js"
 */

import { Connection } from "./connection.js";
import { Permits, toolOf } from "./permits.js";
import { Queue } from "./queue.js";
import { StreamSocket } from "./stream.js";
import { applyBatch, applyDelta, applyPartial, cursor, fold, initial, mergeFeed } from "./reducer.js";

/** Milliseconds of quiet before the folded state is copied. */
const COPY_AFTER = 800;

const NOT_SIGNED_IN = 4501;

/**
 * @typedef {object} Change
 * @property {boolean} live  true when something new happened, false for replay and the local copy
 * @property {boolean} own  the person just sent something
 *
 * @typedef {object} SessionOptions
 * @property {string} conversation
 * @property {Api} api
 * @property {Store} store
 * @property {string} url  ws: or wss: address of this conversation
 * @property {(session: Session, change: Change) => void} onChange
 * @property {() => void} [onSignedOut]
 * @property {typeof globalThis.WebSocket} [WebSocket]
 * @property {boolean} [stream]  false: nothing stands in for a WebSocket that a network lets not through
 * @property {number} [staleAfter]  milliseconds after which unsent messages ask first
 */

export class Session {
  /** @type {LinkState} */ link = "connecting";
  /** @type {number | null} */ code = null;
  /** @type {State} */ state;
  /** @type {State | null} */ #shown = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #copyTimer;
  #read = 0;
  /** @type {Set<string>} finished while this page was open, and not read since */ #news = new Set();
  #asked = "";
  #closed = false;

  /** True once a replay has ended: what there is, is here. */
  complete = false;
  loadingEarlier = false;
  permits = new Permits();
  /** @type {import("./types.js").Budget | null} told with the newest acknowledgement, when little is left */ budget = null;

  /** @param {SessionOptions} options */
  constructor(options) {
    this.options = options;
    this.conversation = options.conversation;
    this.state = initial(options.conversation);
    this.queue = new Queue({
      conversation: options.conversation,
      store: options.store,
      send: (item) => this.#send(item),
      upload: (conversation, file, name, onProgress) => options.api.upload(conversation, file, name, onProgress),
      onChange: () => this.#changed(this.complete),
      onLate: () => this.connection.resync(),
      ...(options.staleAfter === undefined ? {} : { staleAfter: options.staleAfter }),
    });
    this.connection = new Connection({
      url: options.url,
      position: () => this.state,
      fetchRef: (ref) => options.api.getEvent(ref),
      ...(options.WebSocket ? { WebSocket: options.WebSocket } : {}),
      ...(options.stream === false ? {} : { stream: (query) => new StreamSocket(options.api, options.conversation, query) }),
      handlers: {
        onBatch: (batch) => this.#onBatch(batch),
        onEvent: (event) => {
          this.permits.hear(event);
          this.#hearNews(event);
          this.#adopt(fold(this.state, [event]), true);
          this.queue.settle(this.state);
        },
        onDelta: (delta) => {
          const { state, missing } = applyDelta(this.state, delta);
          if (missing) this.#fillHole(missing);
          else this.#adopt(state, true);
        },
        onPartial: (partial) => this.#adopt(applyPartial(this.state, partial), true),
        onAck: ({ client_id, seq, budget }) => {
          if (client_id === undefined || seq === undefined) return;
          this.budget = budget ?? null;
          this.queue.ack({ client_id, seq }, this.state);
        },
        onNack: (nack) => this.#onNack(nack),
        onState: (state, code) => this.#onLink(state, code),
      },
    });
  }

  /** Paint the local copy, then attach from its cursor. */
  async open() {
    const [copy] = await Promise.all([this.options.store.loadCopy(this.conversation), this.queue.restore()]);
    if (this.#closed) return;
    if (copy) this.state = copy;
    this.#changed(false);
    this.connection.start();
  }

  /** What to draw: while a rebuild is under way, still what was there before. */
  get view() {
    return this.#shown ?? this.state;
  }

  /**
   * @param {string} text
   * @param {readonly File[]} [files]
   */
  send(text, files = []) {
    this.queue.add(text, files);
    this.options.onChange(this, { live: false, own: true });
  }

  /**
   * Answer the assistant's question whether it may use a tool. The first answer of anybody counts.
   * @param {string} toolCall
   * @param {"approved" | "denied"} decision
   */
  decide(toolCall, decision) {
    const item = toolOf(this.view, toolCall);
    if (!item?.approval || !this.permits.isArmed(item) || this.permits.verdict(toolCall)?.state === "sending") return;
    const { args_hash } = item.approval;
    if (!this.connection.send({ type: "approval.decide", tool_call: toolCall, decision, args_hash })) return;
    this.permits.set(toolCall, { state: "sending", decision });
    this.#changed(false);
  }

  async stop() {
    if (this.link === "online" && this.connection.send({ type: "run.stop" })) return;
    await this.options.api.stopRun(this.conversation);
  }

  /**
   * This person has seen everything up to here.
   * @returns {boolean} true when the server was told something new
   */
  markRead() {
    const { seq } = this.state;
    if (this.link !== "online" || seq <= this.#read) return false;
    if (!this.connection.send({ type: "read", seq })) return false;
    this.#read = seq;
    this.#news.clear();
    return true;
  }

  /**
   * @param {number} readSeq  up to where the server says this person has read
   * @returns {number} answers nobody has read yet
   */
  countUnread(readSeq) {
    const from = Math.max(readSeq, this.#read);
    return this.view.items.filter(
      (item) =>
        item.kind === "message" &&
        item.role !== "user" &&
        (item.status === "complete" || item.status === "interrupted") &&
        (item.seq > from || this.#news.has(item.id)),
    ).length;
  }

  /**
   * Ask the message feed for a page before the oldest message known.
   * @param {number} [limit]  messages
   */
  async loadEarlier(limit) {
    if (this.loadingEarlier || this.state.before === null) return;
    this.loadingEarlier = true;
    this.#changed(false);
    try {
      const page = await this.options.api.listMessages(this.conversation, this.state.before, limit);
      this.state = mergeFeed(this.state, page);
      this.#keep();
    } finally {
      this.loadingEarlier = false;
      this.#changed(false);
    }
  }

  close() {
    this.#closed = true;
    this.connection.stop();
    this.queue.close();
    clearTimeout(this.#copyTimer);
    this.#copyTimer = undefined;
    if (this.complete && cursor(this.state)) void this.options.store.saveCopy(this.state);
  }

  /** Close without keeping anything. */
  abandon() {
    this.complete = false;
    this.close();
  }

  /**
   * Ask once for what was lost: the deltas that follow find the same hole until the answer is here.
   * @param {{message: string, from: number}} missing
   */
  #fillHole(missing) {
    const hole = `${missing.message} ${missing.from}`;
    if (hole === this.#asked) return;
    this.#asked = hole;
    this.connection.send({ type: "partial.get", ...missing });
  }

  /**
   * An answer stands where it began, which may have been seen; its end is news all the same.
   * @param {import("./types.js").LogEvent} event
   */
  #hearNews({ type, data }) {
    const finished = type === "message.completed" || type === "message.interrupted";
    if (finished && data?.["role"] !== "user") this.#news.add(String(data?.["message"]));
  }

  /** @param {QueueItem} item */
  #send(item) {
    const parts = (item.files ?? []).map(({ attachment }) => ({ attachment }));
    return this.connection.send({ type: "message.send", client_id: item.client_id, text: item.text, ...(parts.length > 0 ? { parts } : {}) });
  }

  /** @param {import("./connection.js").Nack} nack */
  #onNack(nack) {
    const { client_id, tool_call } = nack;
    if (client_id !== undefined) this.queue.nack({ ...nack, client_id });
    if (tool_call === undefined) return;
    this.#refused(tool_call, nack);
    this.#changed(false);
  }

  /**
   * @param {string} toolCall
   * @param {Record<string, any>} refusal
   */
  #refused(toolCall, refusal) {
    this.permits.refuse(toolCall, refusal);
    // Other arguments than the ones shown: look again before anybody can answer.
    if (refusal["code"] === "hash") {
      this.permits.disarm();
      this.connection.resync();
    }
  }

  /** @param {Batch} batch */
  #onBatch(batch) {
    if (batch.batch === 0 && batch.reset && this.view.items.length > 0) this.#shown = this.view;
    this.state = applyBatch(this.state, batch);
    if (!batch.last) {
      if (!this.#shown) this.#changed(false);
      return;
    }
    this.#shown = null;
    this.complete = true;
    this.permits.rearm(batch);
    this.queue.settle(this.state);
    this.#keep();
    this.#changed(false);
  }

  /**
   * @param {LinkState} state
   * @param {number | null} code
   */
  #onLink(state, code) {
    this.link = state;
    this.code = code;
    this.#asked = "";
    if (state === "online") this.queue.open();
    else this.queue.close();
    if (state !== "online") this.permits.disarm();
    if (state === "final" && code === NOT_SIGNED_IN) this.options.onSignedOut?.();
    this.#changed(false);
  }

  /**
   * @param {State} state
   * @param {boolean} live
   */
  #adopt(state, live) {
    if (state === this.state) return;
    this.state = state;
    this.#keep();
    this.#changed(live);
  }

  /** Copy what is not copied yet: the page may be about to go. */
  keepNow() {
    if (this.#copyTimer === undefined) return;
    clearTimeout(this.#copyTimer);
    this.#copyTimer = undefined;
    void this.options.store.saveCopy(this.state);
  }

  #keep() {
    if (this.#closed) return;
    clearTimeout(this.#copyTimer);
    this.#copyTimer = setTimeout(() => this.keepNow(), COPY_AFTER);
  }

  /** @param {boolean} live */
  #changed(live) {
    if (!this.#closed) this.options.onChange(this, { live, own: false });
  }
}
