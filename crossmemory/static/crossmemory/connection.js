/**
 * One WebSocket to one conversation, kept alive: replay by cursor, batch order, pings, back-off, waking.
 *
 * The connection checks and orders frames and hands them on; it knows nothing of what they mean. Only
 * after the last batch of a replay is it "online".
 *
 * @import {Batch, Budget, Delta, LinkState, LogEvent, Partial} from "./types.js"
 */

import { Carrier } from "./carrier.js";
import { listen } from "./listen.js";
import { Liveness } from "./liveness.js";
import { BatchOrder } from "./order.js";
import { hasRefs, withRefs } from "./refs.js";
import { Timers } from "./timers.js";

export const PROTOCOL = "crossmemory.v1";

/**
 * Milliseconds. The server pings every 25 s; 8 s more without any frame means the socket is dead. A frame
 * younger than `fresh` proves that it lives.
 */
export const TIMES = {
  silent: 33_000,
  connecting: 10_000,
  probe: 4_000,
  fresh: 2_000,
  behind: 5_000,
  backoff: 500,
  backoffMax: 30_000,
};

const FIRST_APPLICATION_CODE = 4000;
const FIRST_FINAL_CODE = 4500;
const GOING_AWAY = 4010;

/**
 * @typedef {{client_id?: string, seq?: number, duplicate?: boolean, budget?: Budget, tool_call?: string, decision?: string}} Ack
 *     of a message or of an answer to an approval
 * @typedef {{client_id?: string, tool_call?: string, code: string, detail?: string, retryable?: boolean, resets_at?: string}} Nack
 *
 * @typedef {object} Handlers
 * @property {(batch: Batch) => void} onBatch
 * @property {(event: LogEvent) => void} onEvent
 * @property {(delta: Delta) => void} [onDelta]
 * @property {(partial: Partial) => void} [onPartial]
 * @property {(ack: Ack) => void} [onAck]
 * @property {(nack: Nack) => void} [onNack]
 * @property {(error: {code?: string, detail?: string}) => void} [onError]
 * @property {(state: LinkState, code: number | null) => void} [onState]
 *
 * @typedef {object} Options
 * @property {string} url  ws: or wss: address without a cursor
 * @property {() => {epoch: string | null, seq: number}} position  where the client stands
 * @property {Handlers} handlers
 * @property {(ref: string) => Promise<LogEvent>} [fetchRef]  gets an event that was too large for a frame
 * @property {typeof globalThis.WebSocket} [WebSocket]
 * @property {(query: string) => import("./carrier.js").Carried} [stream]  where no WebSocket gets through
 * @property {EventTarget | null} [page]  hears online, offline and pageshow
 * @property {EventTarget | null} [view]  hears visibilitychange
 * @property {() => number} [now]  milliseconds
 * @property {() => number} [random]  0 ≤ x < 1
 * @property {globalThis.Partial<typeof TIMES>} [times]
 */

export class Connection {
  /** @type {import("./carrier.js").Carried | null} */ #socket = null;
  /** @type {LinkState} */ #state = "offline";
  #timers = new Timers();
  #order = new BatchOrder();
  /** @type {Record<string, any>[]} */ #inbox = [];
  /** @type {(() => void)[]} */ #unlisten = [];
  #draining = false;
  #failures = 0;
  #retryAfter = 0;
  #stopped = true;

  /** @param {Options} options */
  constructor(options) {
    this.options = options;
    this.times = { ...TIMES, ...options.times };
    this.now = options.now ?? (() => Date.now());
    this.random = options.random ?? Math.random;
    const Socket = options.WebSocket ?? globalThis.WebSocket;
    this.carrier = new Carrier((query) => new Socket(options.url + query, [PROTOCOL]), options.stream);
    this.liveness = new Liveness(this.#timers, this.times, this.now, () => this.resync());
  }

  /** @returns {LinkState} */
  get state() {
    return this.#state;
  }

  /** Begin, or begin again after `stop`. Safe to call twice. */
  start() {
    if (!this.#stopped) return;
    this.#stopped = false;
    this.#listen();
    this.#connect();
  }

  /** Close for good. Nothing is stopped on the server by this. */
  stop() {
    this.#stopped = true;
    for (const unlisten of this.#unlisten.splice(0)) unlisten();
    this.#drop(1000);
    this.#timers.clearAll();
  }

  /**
   * @param {Record<string, unknown>} frame
   * @returns {boolean} false when it did not go out
   */
  send(frame) {
    const socket = this.#socket;
    if (!socket || socket.readyState !== 1) return false;
    try {
      socket.send(JSON.stringify(frame));
      return true;
    } catch {
      return false;
    }
  }

  /** Leave this socket and attach again from where the client stands. */
  resync() {
    if (this.#stopped || this.#state === "final") return;
    this.#drop(4009);
    this.#retry();
  }

  /** Something woke the page: make sure the socket lives, without waiting for a timer. Idempotent. */
  wake() {
    if (this.#stopped || this.#state === "final") return;
    if (this.#timers.has("retry")) {
      this.#timers.clear("retry");
      this.#connect();
    } else if (this.#socket?.readyState === 1) {
      this.liveness.probe(() => this.send({ type: "ping" }));
    } else if (!this.#socket) {
      this.#connect();
    }
  }

  #listen() {
    const page = this.options.page === undefined ? globalThis.window : this.options.page;
    const view = this.options.view === undefined ? globalThis.document : this.options.view;
    const wake = () => this.wake();
    const visible = () => {
      if (/** @type {Document} */ (view).visibilityState !== "hidden") this.wake();
    };
    /** @type {[EventTarget | null | undefined, string, () => void][]} */
    const wanted = [
      [page, "online", wake],
      [page, "offline", wake],
      [page, "pageshow", wake],
      [view, "visibilitychange", visible],
    ];
    for (const [target, name, listener] of wanted) if (target) this.#unlisten.push(listen(target, name, listener));
  }

  #connect() {
    if (this.#stopped || this.#socket) return;
    this.#setState("connecting");
    this.#order.reset();
    this.#inbox = [];
    /** @type {import("./carrier.js").Carried} */
    let socket;
    try {
      socket = this.carrier.open(this.#query);
    } catch {
      this.#retry();
      return;
    }
    this.#socket = socket;
    this.#timers.after("connecting", this.times.connecting, () => this.resync());
    socket.onopen = () => {
      if (socket === this.#socket) this.liveness.hear();
    };
    socket.onmessage = (/** @type {{data: unknown}} */ message) => {
      if (socket === this.#socket) this.#receive(message.data);
    };
    socket.onclose = (/** @type {{code: number, reason: string}} */ close) => {
      if (socket === this.#socket) this.#closed(close.code, close.reason);
    };
    socket.onerror = () => {};
  }

  get #query() {
    const { epoch, seq } = this.options.position();
    return epoch !== null && seq > 0 ? `?cursor=${encodeURIComponent(`${epoch}:${seq}`)}` : "";
  }

  /** A WebSocket is lighter than what stands in for it, and tells at once when it is gone. */
  #lookForSocket() {
    if (!this.carrier.streaming) return;
    this.#timers.after("socket", this.carrier.lookAfter, () => {
      this.carrier.look(this.#query, () => this.resync());
      this.#lookForSocket();
    });
  }

  /** @param {unknown} data */
  #receive(data) {
    this.carrier.works();
    this.liveness.hear();
    if (typeof data !== "string") return;
    let frame;
    try {
      frame = JSON.parse(data);
    } catch {
      return;
    }
    if (frame === null || typeof frame !== "object") return;
    this.#inbox.push(frame);
    if (!this.#draining) void this.#drain();
  }

  /** Frames are taken strictly in order, also when one of them has to be fetched first. */
  async #drain() {
    this.#draining = true;
    const socket = this.#socket;
    try {
      for (let frame = this.#inbox.shift(); frame && socket === this.#socket; frame = this.#inbox.shift()) {
        if (hasRefs(frame)) {
          const whole = await withRefs(frame, this.options.fetchRef);
          if (socket !== this.#socket) return;
          if (!whole) return this.resync();
          frame = whole;
        }
        this.#take(frame);
      }
    } finally {
      this.#draining = false;
      if (this.#inbox.length > 0 && socket !== this.#socket) void this.#drain();
    }
  }

  /** @param {Record<string, any>} frame */
  #take(frame) {
    const { handlers } = this.options;
    switch (frame.type) {
      case "structured_replay":
        return this.#takeBatch(/** @type {Batch} */ (/** @type {unknown} */ (frame)));
      case "event":
        return this.#takeEvent(frame);
      case "delta":
        if (this.#order.synced) handlers.onDelta?.(/** @type {Delta} */ (frame));
        return undefined;
      case "partial":
        return handlers.onPartial?.(/** @type {Partial} */ (frame));
      case "ping":
        this.send(frame.n === undefined ? { type: "pong" } : { type: "pong", n: frame.n });
        return this.#watchHead(frame.head);
      case "ack":
        return handlers.onAck?.(frame);
      case "nack":
        return handlers.onNack?.(/** @type {Nack} */ (frame));
      case "error":
        return handlers.onError?.(frame);
      default:
        if (typeof frame.retry_after_ms === "number") this.#retryAfter = frame.retry_after_ms;
        return undefined;
    }
  }

  /** @param {Batch} batch */
  #takeBatch(batch) {
    const place = this.#order.place(batch);
    if (place === "missed") return this.resync();
    if (place === "stale") return;
    // A rebuild under way: nothing goes out before its last batch.
    if (place === "begins") this.#setState("connecting");
    this.options.handlers.onBatch(batch);
    if (!batch.last) return;
    this.#failures = 0;
    this.#timers.clear("connecting");
    this.#lookForSocket();
    this.#setState("online");
  }

  /** @param {Record<string, any>} frame */
  #takeEvent(frame) {
    const { epoch, seq } = this.options.position();
    const event = /** @type {LogEvent | undefined} */ (frame.event);
    if (!this.#order.synced || !event || typeof event.seq !== "number") return;
    if (frame.epoch !== undefined && frame.epoch !== epoch) return this.resync();
    if (event.seq <= seq) return;
    if (event.seq > seq + 1) return this.resync();
    this.options.handlers.onEvent(event);
  }

  /** @param {unknown} head  newest number the server knows of */
  #watchHead(head) {
    if (this.#order.synced && typeof head === "number") this.liveness.expect(() => this.options.position().seq < head);
  }

  /**
   * @param {number} code
   * @param {string} reason
   */
  #closed(code, reason) {
    this.#socket = null;
    this.#timers.clearAll();
    if (this.#stopped) return;
    if (code >= FIRST_FINAL_CODE && code < 5000) {
      this.#setState("final", code);
      return;
    }
    if (code === GOING_AWAY) this.#retryAfter = retryAfter(reason) ?? this.#retryAfter;
    this.#retry(code >= FIRST_APPLICATION_CODE ? code : null);
  }

  /** @param {number | null} [code] */
  #retry(code = null) {
    if (this.#stopped) return;
    this.#setState("offline", code);
    const ceiling = Math.min(this.times.backoffMax, this.times.backoff * 2 ** this.#failures);
    const wait = this.#retryAfter + ceiling * (0.5 + this.random() / 2);
    this.#failures = Math.min(this.#failures + 1, 16);
    this.#retryAfter = 0;
    this.#timers.after("retry", wait, () => this.#connect());
  }

  /** @param {number} code */
  #drop(code) {
    const socket = this.#socket;
    this.#socket = null;
    this.#timers.clearAll();
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = socket.onerror = null;
    try {
      socket.close(code === 1000 ? 1000 : 4000);
    } catch {
      // A socket that cannot even be closed is forgotten all the same.
    }
  }

  /**
   * @param {LinkState} state
   * @param {number | null} [code]  why, when the server said so
   */
  #setState(state, code = null) {
    if (state === this.#state && code === null) return;
    this.#state = state;
    this.options.handlers.onState?.(state, code);
  }
}

/**
 * @param {string} reason  the close reason: JSON or `retry_after_ms=1500`
 * @returns {number | null} milliseconds
 */
function retryAfter(reason) {
  const found = /(?:retry_after_ms\D{0,4})?(\d{1,8})/.exec(reason ?? "");
  return found ? Number(found[1]) : null;
}
