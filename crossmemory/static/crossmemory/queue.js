/**
 * Messages that the server has not confirmed yet: shown at once, sent once, in order.
 *
 * One message is under way at a time, so that the order typed is the order stored. A message keeps its
 * `client_id` through reloads and reconnects: sending it again is harmless.
 *
 * @import {QueuedFile, QueueItem, State} from "./types.js"
 * @import {Upload} from "./upload.js"
 */

import { bring, lacksFiles } from "./upload.js";

/** A message that waited longer than this asks before it goes out (milliseconds). */
export const STALE_AFTER = 15 * 60_000;

/** Without an answer for this long a message is shown as not confirmed (milliseconds). */
export const ACK_TIMEOUT = 30_000;

/** Before a file is brought again that did not get through (milliseconds). */
const UPLOAD_AGAIN = 3_000;

/**
 * @typedef {object} QueueStore  What the queue needs of store.js.
 * @property {(conversation: string) => Promise<QueueItem[]>} loadQueue
 * @property {(conversation: string, item: QueueItem) => Promise<void>} saveQueued
 * @property {(conversation: string, clientId: string) => Promise<void>} dropQueued
 *
 * @typedef {object} QueueOptions
 * @property {string} conversation
 * @property {QueueStore} store
 * @property {(item: QueueItem) => boolean} send  false when it could not be handed to the socket
 * @property {Upload} [upload]  brings a file to the server
 * @property {() => void} [onChange]
 * @property {() => void} [onLate]  an acknowledgement is overdue: the connection is suspect
 * @property {() => number} [now]  milliseconds since 1970
 * @property {() => string} [newId]
 * @property {number} [staleAfter]
 * @property {number} [ackTimeout]
 */

/**
 * A random id; also where `crypto.randomUUID` is missing (pages without TLS).
 * @returns {string}
 */
export function randomId() {
  if (globalThis.crypto?.randomUUID) return globalThis.crypto.randomUUID();
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Queue {
  /** @type {readonly QueueItem[]} */ items = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #timer;
  #open = false;

  /** @param {QueueOptions} options */
  constructor(options) {
    this.options = options;
    this.now = options.now ?? (() => Date.now());
    this.newId = options.newId ?? randomId;
    this.staleAfter = options.staleAfter ?? STALE_AFTER;
    this.ackTimeout = options.ackTimeout ?? ACK_TIMEOUT;
  }

  /** Take up what an earlier page left. Nothing goes out before `open`. */
  async restore() {
    const kept = await this.options.store.loadQueue(this.options.conversation);
    const here = new Set(this.items.map((item) => item.client_id));
    const restored = kept
      .filter((item) => !here.has(item.client_id))
      .map((item) => /** @type {QueueItem} */ ({ ...item, approved: false, state: parked(item) ? "refused" : "waiting" }));
    this.#set([...restored, ...this.items].sort((a, b) => a.created_at - b.created_at));
    this.#pump();
  }

  /**
   * @param {string} text
   * @param {readonly File[]} [files]
   * @returns {QueueItem}
   */
  add(text, files = []) {
    /** @type {QueueItem} */
    const item = {
      client_id: this.newId(),
      text,
      created_at: this.now(),
      state: "waiting",
      seq: null,
      code: null,
      detail: null,
      approved: false,
      ...(files.length > 0 ? { files: files.map((file) => ({ file, name: file.name, attachment: null })) } : {}),
    };
    void this.options.store.saveQueued(this.options.conversation, item);
    this.#set([...this.items, item]);
    this.#pump();
    return item;
  }

  /** The replay is over: what waits may go out. */
  open() {
    this.#open = true;
    this.#pump();
  }

  /** The connection is gone: what was under way will be sent again, under the same id. */
  close() {
    this.#open = false;
    clearTimeout(this.#timer);
    this.#set(this.items.map((item) => (underWay(item) && item.state !== "uploading" ? { ...item, state: "waiting" } : item)));
  }

  /**
   * The server has stored the message. The bubble stays until its event is in the log here.
   * @param {{client_id: string, seq: number}} ack
   * @param {State} state
   */
  ack(ack, state) {
    this.#change(ack.client_id, { state: "saved", seq: ack.seq, code: null, detail: null });
    this.settle(state);
    this.#pump();
  }

  /** @param {{client_id: string, code: string, detail?: string, resets_at?: string}} nack */
  nack(nack) {
    const { code, detail = null, resets_at = null } = nack;
    this.#change(nack.client_id, { state: "refused", code, detail, resets_at });
    const item = this.#find(nack.client_id);
    if (item) void this.options.store.saveQueued(this.options.conversation, item);
    this.#pump();
  }

  /**
   * Let go of every bubble whose message stands in the log: matched by id, never by text.
   * @param {State} state
   */
  settle(state) {
    if (this.items.length === 0) return;
    const ids = new Set(this.items.map((item) => item.client_id));
    /** @type {Set<string>} */
    const here = new Set();
    for (const item of state.items) {
      if (item.kind === "message" && item.role === "user" && item.client_id && ids.has(item.client_id)) {
        here.add(item.client_id);
      }
    }
    const done = this.items.filter(
      (item) => here.has(item.client_id) || (item.seq !== null && item.seq <= state.seq),
    );
    if (done.length === 0) return;
    this.#remove(done.map((item) => item.client_id));
    this.#pump();
  }

  /**
   * Send again, also what had been waiting too long. After a conflict under a new id, as a new message.
   * @param {string} clientId
   */
  retry(clientId) {
    const item = this.#find(clientId);
    if (!item) return;
    if (item.code === "conflict") {
      this.#remove([clientId]);
      this.add(item.text, (item.files ?? []).map(({ file, name }) => new File([file], name, { type: file.type })));
      return;
    }
    this.#change(clientId, { state: "waiting", approved: true, code: null, detail: null });
    this.#pump();
  }

  /**
   * @param {string} clientId
   * @returns {string} its text, for the composer
   */
  discard(clientId) {
    const text = this.#find(clientId)?.text ?? "";
    this.#remove([clientId]);
    this.#pump();
    return text;
  }

  #pump() {
    if (!this.#open) return;
    for (const item of this.items) {
      if (underWay(item) || item.state === "asking") return;
      if (item.state !== "waiting") continue;
      if (!item.approved && this.now() - item.created_at > this.staleAfter) {
        this.#change(item.client_id, { state: "asking" });
      } else if (lacksFiles(item)) {
        void this.#upload(item);
      } else if (this.options.send(item)) {
        this.#change(item.client_id, { state: "sending" });
        this.#watch(item.client_id);
      }
      return;
    }
  }

  /** @param {QueueItem} item */
  async #upload(item) {
    const { conversation, store, upload } = this.options;
    const id = item.client_id;
    if (!upload) return this.nack({ client_id: id, code: "file_unsupported" });
    this.#change(id, { state: "uploading", progress: 0 });
    /** @param {QueuedFile[]} files @param {number} progress */
    const onProgress = (files, progress) => this.#change(id, { files, progress });
    const trouble = await bring(conversation, item, upload, onProgress);
    const now = this.#find(id);
    if (!now) return undefined;
    void store.saveQueued(conversation, now); // what is on the server already is not brought again
    if (trouble !== null && trouble !== "offline") return this.nack({ client_id: id, ...trouble });
    this.#change(id, { state: "waiting" });
    if (trouble === null) this.#pump();
    else if (this.#open) setTimeout(() => this.#pump(), UPLOAD_AGAIN);
    return undefined;
  }

  /** @param {string} clientId */
  #watch(clientId) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#find(clientId)?.state !== "sending") return;
      this.#change(clientId, { state: "late" });
      this.options.onLate?.();
    }, this.ackTimeout);
  }

  /** @param {string} clientId */
  #find(clientId) {
    return this.items.find((item) => item.client_id === clientId);
  }

  /**
   * @param {string} clientId
   * @param {Partial<QueueItem>} changes
   */
  #change(clientId, changes) {
    if (!this.#find(clientId)) return;
    this.#set(this.items.map((item) => (item.client_id === clientId ? { ...item, ...changes } : item)));
  }

  /** @param {string[]} clientIds */
  #remove(clientIds) {
    for (const id of clientIds) void this.options.store.dropQueued(this.options.conversation, id);
    this.#set(this.items.filter((item) => !clientIds.includes(item.client_id)));
  }

  /** @param {readonly QueueItem[]} items */
  #set(items) {
    this.items = items;
    this.options.onChange?.();
  }
}

/** @param {QueueItem} item */
function underWay(item) {
  return item.state === "sending" || item.state === "late" || item.state === "uploading";
}

/** @param {QueueItem} item  one the server had refused before the reload */
function parked(item) {
  return item.state === "refused";
}
