/**
 * The local copy: folded states, unsent messages and drafts in IndexedDB, keyed by user.
 *
 * Whatever goes wrong here (private mode, no room, a database of a newer version, a browser that never
 * answers) costs speed and nothing else: every function resolves, with nothing in its hands at worst.
 *
 * @import {Conversation, QueueItem, State} from "./types.js"
 */

import { STATE_VERSION } from "./reducer.js";

const DATABASE = "crossmemory";
const DATABASE_VERSION = 1;
const STORES = /** @type {const} */ (["copies", "queue", "drafts", "meta"]);
const CHANNEL = "crossmemory";

/** Conversations whose copy is kept. */
const MAX_COPIES = 30;

/** Larger states are not copied (items). */
const MAX_ITEMS = 4_000;

/**
 * @typedef {"copies" | "queue" | "drafts" | "meta"} StoreName
 * @typedef {{type: "signed-out"} | {type: "user", user: string} | {type: "changed"}} Announcement
 *
 * @typedef {object} StoreOptions
 * @property {string} user
 * @property {boolean} [enabled]  false keeps nothing beyond the page
 * @property {IDBFactory | null} [indexedDB]
 * @property {typeof globalThis.BroadcastChannel | null} [BroadcastChannel]
 * @property {number} [patience]  milliseconds to wait for the browser
 */

export class Store {
  /** @type {IDBDatabase | null} */ #db = null;
  /** @type {BroadcastChannel | null} */ #channel = null;
  /** @type {Set<(said: Announcement) => void>} */ #listeners = new Set();
  #copies = true;
  #dropped = false;

  /** @param {StoreOptions} options */
  constructor(options) {
    this.user = options.user;
    this.patience = options.patience ?? 1_000;
    this.#copies = options.enabled ?? true;
  }

  /**
   * Open what there is; clear it first when it belongs to somebody else.
   * @param {StoreOptions} options
   * @returns {Promise<Store>} never rejects
   */
  static async open(options) {
    const store = new Store(options);
    store.#openChannel(options.BroadcastChannel);
    if (options.enabled !== false) await store.#openDatabase(options.indexedDB);
    const owner = await store.#get("meta", "user");
    if (owner !== undefined && owner !== store.user) await store.#clear();
    await store.#put("meta", "user", store.user);
    store.announce({ type: "user", user: store.user });
    return store;
  }

  /** True while something is kept beyond the page. */
  get durable() {
    return this.#db !== null;
  }

  /**
   * @param {string} conversation
   * @returns {Promise<State | null>}
   */
  async loadCopy(conversation) {
    const copy = await this.#get("copies", this.#key(conversation));
    const usable = copy && copy.version === STATE_VERSION && copy.conversation === conversation;
    return usable && Array.isArray(copy.items) ? copy : null;
  }

  /** @returns {Promise<Conversation[]>} the list as it was last seen */
  async loadList() {
    const list = await this.#get("meta", this.#key("list"));
    return Array.isArray(list) ? list : [];
  }

  /** @param {readonly Conversation[]} list */
  async saveList(list) {
    if (this.#copies) await this.#put("meta", this.#key("list"), list);
  }

  /** @param {string} conversation */
  async dropCopy(conversation) {
    await this.#delete("copies", this.#key(conversation));
  }

  /** @param {State} state */
  async saveCopy(state) {
    if (!this.#copies || state.items.length > MAX_ITEMS) return;
    const key = this.#key(state.conversation);
    if (!(await this.#put("copies", key, state))) {
      // No room: give back what the copies took and try once more.
      await this.#clear(["copies"]);
      this.#copies = await this.#put("copies", key, state);
    }
    await this.#trimCopies(key);
  }

  /** @param {string} conversation */
  async dropConversation(conversation) {
    await this.#delete("copies", this.#key(conversation));
    await this.#delete("drafts", this.#key(conversation));
    for (const item of await this.loadQueue(conversation)) await this.dropQueued(conversation, item.client_id);
  }

  /**
   * @param {string} conversation
   * @returns {Promise<QueueItem[]>}
   */
  async loadQueue(conversation) {
    const rows = await this.#run("queue", "readonly", (rows) => rows.getAll());
    if (!Array.isArray(rows)) return [];
    return rows
      .filter((row) => row?.user === this.user && row.conversation === conversation)
      .map((row) => row.item)
      .sort((a, b) => a.created_at - b.created_at);
  }

  /**
   * @param {string} conversation
   * @param {QueueItem} item
   */
  async saveQueued(conversation, item) {
    const row = { user: this.user, conversation, item };
    if (await this.#put("queue", this.#key(conversation, item.client_id), row)) return;
    await this.#clear(["copies"]);
    await this.#put("queue", this.#key(conversation, item.client_id), row);
  }

  /**
   * @param {string} conversation
   * @param {string} clientId
   */
  async dropQueued(conversation, clientId) {
    await this.#delete("queue", this.#key(conversation, clientId));
  }

  /**
   * @param {string} conversation
   * @returns {Promise<string>}
   */
  async loadDraft(conversation) {
    const draft = await this.#get("drafts", this.#key(conversation));
    return typeof draft === "string" ? draft : "";
  }

  /**
   * @param {string} conversation
   * @param {string} text
   */
  async saveDraft(conversation, text) {
    if (text) await this.#put("drafts", this.#key(conversation), text);
    else await this.#delete("drafts", this.#key(conversation));
  }

  /**
   * Forget everything, of everybody, here and in the other tabs: somebody signed out or somebody else signed in.
   * @param {{tell?: boolean}} [options]
   */
  async drop({ tell = true } = {}) {
    if (tell) this.announce({ type: "signed-out" });
    await this.#clear();
    this.#dropped = true;
  }

  close() {
    this.#channel?.close();
    this.#channel = null;
    this.#listeners.clear();
    this.#db?.close();
    this.#db = null;
  }

  /** @param {Announcement} said  heard by the other tabs of this site */
  announce(said) {
    try {
      this.#channel?.postMessage(said);
    } catch {
      // A closed channel means that nobody listens.
    }
  }

  /** @param {(said: Announcement) => void} listener */
  listen(listener) {
    this.#listeners.add(listener);
  }

  /** @param {string[]} parts */
  #key(...parts) {
    return [this.user, ...parts].join("\n");
  }

  /** @param {typeof globalThis.BroadcastChannel | null | undefined} Channel */
  #openChannel(Channel = globalThis.BroadcastChannel) {
    try {
      if (!Channel) return;
      this.#channel = new Channel(CHANNEL);
      this.#channel.onmessage = (message) => {
        for (const listener of this.#listeners) listener(message.data);
      };
    } catch {
      this.#channel = null;
    }
  }

  /** @param {IDBFactory | null | undefined} factory */
  async #openDatabase(factory) {
    try {
      // Reading the global can itself throw, in a sandboxed frame.
      const from = factory === undefined ? globalThis.indexedDB : factory;
      if (!from) return;
      const request = from.open(DATABASE, DATABASE_VERSION);
      request.onupgradeneeded = () => {
        for (const name of STORES) {
          if (!request.result.objectStoreNames.contains(name)) request.result.createObjectStore(name);
        }
      };
      this.#db = await this.#settled(request);
      if (!this.#db) {
        request.onsuccess = () => request.result.close();
        return;
      }
      this.#db.onversionchange = () => this.#lose();
      this.#db.onclose = () => this.#lose();
    } catch {
      this.#db = null;
    }
  }

  #lose() {
    this.#db?.close();
    this.#db = null;
  }

  /**
   * @template T
   * @param {IDBRequest<T>} request
   * @returns {Promise<T | null>} null on failure and when the browser never answers
   */
  #settled(request) {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(null), this.patience);
      const done = (/** @type {T | null} */ value) => {
        clearTimeout(timer);
        resolve(value);
      };
      request.onsuccess = () => done(request.result);
      request.onerror = (event) => {
        event?.preventDefault?.();
        done(null);
      };
      if ("onblocked" in request) request.onblocked = () => done(null);
    });
  }

  /**
   * @param {StoreName} name
   * @param {IDBTransactionMode} mode
   * @param {(rows: IDBObjectStore) => IDBRequest<any>} act
   * @returns {Promise<any>} null on any failure
   */
  async #run(name, mode, act) {
    if (!this.#db || this.#dropped) return null;
    try {
      const transaction = this.#db.transaction(name, mode);
      const failed = new Promise((resolve) => {
        transaction.onabort = () => resolve(null);
      });
      return await Promise.race([this.#settled(act(transaction.objectStore(name))), failed]);
    } catch {
      return null;
    }
  }

  /**
   * @param {StoreName} name
   * @param {string} key
   * @returns {Promise<any>}
   */
  async #get(name, key) {
    return (await this.#run(name, "readonly", (rows) => rows.get(key))) ?? undefined;
  }

  /**
   * @param {StoreName} name
   * @param {string} key
   * @param {unknown} value
   * @returns {Promise<boolean>} false when it is not kept
   */
  async #put(name, key, value) {
    return (await this.#run(name, "readwrite", (rows) => rows.put(value, key))) !== null;
  }

  /**
   * @param {StoreName} name
   * @param {string} key
   */
  async #delete(name, key) {
    await this.#run(name, "readwrite", (rows) => rows.delete(key));
  }

  /** @param {readonly StoreName[]} names */
  async #clear(names = STORES) {
    for (const name of names) await this.#run(name, "readwrite", (rows) => rows.clear());
  }

  /** @param {string} newest */
  async #trimCopies(newest) {
    const recent = /** @type {string[]} */ ((await this.#get("meta", "recent")) ?? []);
    if (recent[0] === newest) return;
    const order = [newest, ...recent.filter((key) => key !== newest)];
    await this.#put("meta", "recent", order.slice(0, MAX_COPIES));
    for (const key of order.slice(MAX_COPIES)) await this.#delete("copies", key);
  }
}
