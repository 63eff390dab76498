/**
 * What the list knows: the chats, the connected accounts and the surfaces that can be connected.
 *
 * @import {Api} from "./api.js"
 * @import {Store} from "./store.js"
 * @import {Account, Conversation, Surface} from "./types.js"
 */

export class Directory {
  /** @type {Conversation[]} newest first */ conversations = [];
  /** @type {Account[]} */ accounts = [];
  /** @type {Surface[]} */ surfaces = [];
  /** @type {string | null} address of the page after the last one loaded */ next = null;
  /** @type {"loading" | "ready" | "failed"} */ status = "loading";
  #paged = false;

  /**
   * @param {Api} api
   * @param {() => Store} store
   */
  constructor(api, store) {
    this.api = api;
    this.store = store;
  }

  async restore() {
    if (this.status === "loading") this.conversations = await this.store().loadList();
  }

  /** Look again at the newest chats; older pages stay as they were. */
  async refresh() {
    try {
      const { results, next } = await this.api.listConversations();
      const fresh = new Set(results.map((chat) => chat.id));
      const older = this.#paged ? this.conversations.filter((chat) => !fresh.has(chat.id)) : [];
      this.conversations = [...results, ...older];
      if (!this.#paged) this.next = next;
      this.status = "ready";
      this.#keep();
    } catch {
      if (this.status === "loading") this.status = "failed";
    }
  }

  async more() {
    if (!this.next) return;
    const { results, next } = await this.api.listConversations(this.next);
    const held = new Set(this.conversations.map((chat) => chat.id));
    this.conversations = [...this.conversations, ...results.filter((chat) => !held.has(chat.id))];
    this.#paged = true;
    this.next = next;
  }

  /** @param {string} id  of a chat that is not on the pages loaded */
  async fetch(id) {
    const chat = await this.api.getConversation(id);
    if (!this.find(id)) this.conversations = [...this.conversations, chat];
  }

  async loadAccounts() {
    try {
      ({ accounts: this.accounts, surfaces: this.surfaces } = await this.api.listAccounts());
    } catch {
      // The chats work without; the next look may succeed.
    }
  }

  /** @param {string | undefined} id */
  find(id) {
    return this.conversations.find((chat) => chat.id === id) ?? null;
  }

  /** The newest chat that belongs to this page. */
  get newest() {
    return this.conversations.find((chat) => !chat.singleton && !chat.read_only) ?? null;
  }

  /** @param {Conversation} chat */
  add(chat) {
    this.conversations = [chat, ...this.conversations];
    this.#keep();
  }

  /** @param {string} id */
  remove(id) {
    this.conversations = this.conversations.filter((chat) => chat.id !== id);
    this.#keep();
  }

  /**
   * @param {string} id
   * @param {Partial<Conversation>} changes
   */
  patch(id, changes) {
    this.conversations = this.conversations.map((chat) => (chat.id === id ? { ...chat, ...changes } : chat));
  }

  /** @param {string} alias */
  labelOf(alias) {
    const surface = this.surfaces.find((one) => one.alias === alias);
    return surface?.label ?? this.conversations.find((chat) => chat.surface === alias)?.surface_label ?? alias;
  }

  /**
   * A text that changes when something is said, or shared, in another conversation than this one.
   * @param {string | undefined} open
   */
  headsBeside(open) {
    const others = this.conversations.filter((chat) => chat.id !== open);
    return `${open} ${others.map((chat) => `${chat.id}:${chat.head}:${chat.shared}`).join(" ")}`;
  }

  #keep() {
    void this.store().saveList(this.conversations);
  }
}
