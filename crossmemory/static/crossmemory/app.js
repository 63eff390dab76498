/**
 * The page: which chat is open, what the list shows, and who is signed in.
 *
 * @import {Config, Conversation} from "./types.js"
 * @import {Change} from "./session.js"
 */

import { AccountsDialog } from "./accounts.js";
import { Api, ApiError } from "./api.js";
import { Contexts } from "./contexts.js";
import { Deeds } from "./deeds.js";
import { Directory } from "./directory.js";
import { Finder } from "./finding.js";
import { listen } from "./listen.js";
import { followKeyboard, remember, remembered, socketAddress } from "./page.js";
import { signedOutPlace } from "./places.js";
import { countUnread, Reading, showBadge } from "./reading.js";
import { MemoryDialog } from "./remembers.js";
import { SearchDialog } from "./searching.js";
import { Session } from "./session.js";
import { Shell } from "./shell.js";
import { Store } from "./store.js";
import { titleOf } from "./titles.js";

/** Milliseconds between looks at the list while the page is visible: other chats have no socket here. */
const LIST_POLL = 15_000;

/** Milliseconds that a message is next without anything happening, after which the list may say why. */
const QUEUED_FOR = 1_500;

/** Milliseconds to wait for the list before the local copy decides what to open. */
const LIST_PATIENCE = 2_000;

/** Key of the draft of a chat that does not exist yet. */
const NEW = "new";

export class Chat {
  /** @type {Session | null} */ session = null;
  /** @type {(() => void)[]} */ #unlisten = [];
  #busy = false;
  #newShared = true;
  #creating = false;
  #startedNew = false;
  #over = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #why;

  /**
   * @param {HTMLElement} host
   * @param {Config} config
   */
  constructor(host, config) {
    this.host = host;
    this.config = config;
    this.texts = config.texts;
    const { texts } = this;
    this.api = new Api({
      base: config.api,
      csrf: config.csrf,
      language: texts.language,
      onSignedOut: () => this.#signedOut("signed_out"),
      onOtherSignIn: () => this.#signedOut("other_sign_in"),
    });
    this.contexts = new Contexts(this.api);
    this.store = new Store({ user: config.user });
    this.deeds = new Deeds({
      host,
      texts,
      api: this.api,
      session: () => this.session,
      chat: () => this.current,
      busy: () => this.#busy,
      say: (problem) => this.shell.say(problem),
      patch: (id, changes) => this.#patch(id, changes),
      leave: (id) => this.#leave(id),
    });
    this.directory = new Directory(this.api, () => this.store);
    this.shell = new Shell(host, texts, {
      list: {
        onOpen: (id) => void this.open(id),
        onNew: () => void this.openNew(),
        onSearch: () => void this.search(),
        onAccount: (surface) => void this.#account(surface),
        onMore: () => void this.deeds.attempt(() => this.directory.more()).then(() => this.#draw()),
      },
      header: {
        onRename: () => void this.deeds.rename(),
        onKeepOut: () => void this.deeds.toggleShared(),
        onMemory: () => void this.#remembers(),
        onDelete: () => void this.deeds.remove(),
      },
      tools: {
        texts,
        host,
        surface: "",
        readOnly: false,
        labelOf: (alias) => this.directory.labelOf(alias),
        loadRun: (run) => this.contexts.ofRun(run),
        fileAddress: (attachment) => this.api.fileAddress(attachment),
        onRetry: (id) => this.session?.queue.retry(id),
        onDiscard: (id) => this.#takeBack(id),
        onDecide: (id, decision) => this.session?.decide(id, decision),
        onEdit: (item) => this.deeds.editMessage(item),
        onDelete: (item) => void this.deeds.deleteMessage(item),
        onAgain: () => void this.deeds.again(),
      },
      timeline: { onEarlier: () => void this.deeds.attempt(async () => this.session?.loadEarlier()) },
      composer: {
        onSend: (text, files) => this.#send(text, files),
        onStop: () => void this.deeds.attempt(async () => this.session?.stop()),
        onDraft: (text) => void this.store.saveDraft(this.session?.conversation ?? NEW, text),
      },
    }, config.limits);
    this.timeline = this.shell.timeline;
    this.composer = this.shell.composer;
    this.finder = new Finder({
      timeline: this.timeline,
      session: () => this.session,
      open: (id) => this.open(id, false),
      attempt: (act) => this.deeds.attempt(act),
      gone: () => this.shell.say(texts.t("search_gone")),
    });
    this.reading = new Reading(
      () => (this.#over ? null : this.session),
      (session) => this.#patch(session.conversation, { unread: 0, read_seq: session.state.seq }),
    );
  }

  async start() {
    this.shell.appear();
    this.#draw();
    const { user, localCopy } = this.config;
    this.store = await Store.open({ user, enabled: localCopy });
    if (this.#over) return;
    this.store.listen((said) => {
      if (said.type === "signed-out") this.#signedOut("signed_out", false);
      if (said.type === "user" && said.user !== user) this.#signedOut("other_sign_in", false);
    });
    this.#listen();
    await this.directory.restore();
    const wanted = this.config.conversation || remembered(user);
    const opened = wanted ? this.open(wanted, false) : null;
    void this.#loadAccounts();
    // Which chat is newest only the server knows; a network that says nothing leaves it to the local copy.
    await Promise.race([this.#loadList(), new Promise((resolve) => setTimeout(resolve, LIST_PATIENCE))]);
    await opened;
    if (!this.session && !this.#over && !this.#startedNew) await this.#openFirst();
  }

  /** Leave the page as it is and let everything go. */
  close() {
    this.#end();
    this.session?.close();
    this.store.close();
  }

  #end() {
    this.#over = true;
    clearTimeout(this.#why);
    for (const unlisten of this.#unlisten.splice(0)) unlisten();
    this.reading.stop();
    this.shell.close();
    showBadge(0);
  }

  /** @returns {Conversation | null} */
  get current() {
    return this.directory.find(this.session?.conversation);
  }

  /**
   * @param {string} id
   * @param {boolean} [byHand]  false when nobody asked for it: the focus stays where it is
   */
  async open(id, byHand = true) {
    this.shell.showSide(false);
    if (this.session?.conversation === id) return;
    this.session?.close();
    const session = new Session({
      conversation: id,
      api: this.api,
      store: this.store,
      url: socketAddress(this.config.socket, id),
      onChange: (from, change) => this.#changed(from, change),
      onSignedOut: () => this.#signedOut("signed_out"),
    });
    this.session = session;
    this.#busy = false;
    remember(this.config.user, id);
    this.#tellTools();
    this.timeline.attach(session);
    this.composer.setText("");
    this.shell.say("");
    this.#drawEmpty();
    this.#draw();
    this.host.dispatchEvent(new CustomEvent("crossmemory-open", { bubbles: true, detail: { conversation: id } }));
    const [draft] = await Promise.all([this.store.loadDraft(id), session.open()]);
    if (this.session !== session) return;
    if (draft && !this.composer.text) this.composer.setText(draft);
    if (byHand) this.composer.offerFocus();
  }

  /** A chat that comes into being with its first message. */
  async openNew() {
    this.shell.showSide(false);
    this.session?.close();
    this.session = null;
    this.#newShared = true;
    this.#startedNew = true;
    remember(this.config.user, "");
    this.timeline.attach(null);
    this.#drawEmpty();
    this.#draw();
    this.composer.setText("");
    this.composer.offerFocus();
    const draft = await this.store.loadDraft(NEW);
    // Who has begun to write, or gone elsewhere, is not written over.
    if (draft && this.session === null && !this.composer.text) this.composer.setText(draft);
  }

  async #openFirst() {
    const { newest } = this.directory;
    if (newest) await this.open(newest.id, false);
    else await this.openNew();
  }

  /**
   * @param {string} text
   * @param {File[]} files
   * @returns {boolean}
   */
  #send(text, files) {
    if (this.session) {
      this.session.send(text, files);
      return true;
    }
    void this.#sendFirst(text, files);
    return false;
  }

  /**
   * @param {string} text
   * @param {File[]} files
   */
  async #sendFirst(text, files) {
    if (this.#creating) return;
    this.#creating = true;
    await this.deeds.attempt(async () => {
      const { agent } = this.config;
      const chat = await this.api.createConversation({ title: titleOf(text || (files[0]?.name ?? "")), shared: this.#newShared, ...(agent ? { agent } : {}) });
      this.directory.add(chat);
      await this.store.saveDraft(NEW, "");
      const opening = this.open(chat.id);
      this.session?.send(text, files);
      this.composer.picked.take();
      await opening;
    }, "not_started");
    this.#creating = false;
  }

  /**
   * @param {Session} session
   * @param {Change} change
   */
  #changed(session, change) {
    if (session !== this.session || this.#over) return;
    const chat = this.current;
    this.timeline.update({ own: change.own, readSeq: chat?.read_seq ?? 0 });
    const { run, title } = session.view;
    const busy = run === "running" || run === "queued" || run === "awaiting_approval";
    if (chat && session.complete && title && title !== chat.title) this.#patch(chat.id, { title });
    clearTimeout(this.#why);
    if (run === "queued") this.#why = setTimeout(() => void this.#loadList(), QUEUED_FOR);
    if (session.complete && busy !== this.#busy) {
      if (!busy || !chat) void this.#loadList();
      this.#busy = busy;
    }
    if (session.link === "final" && (session.code === 4503 || session.code === 4504)) void this.store.dropCopy(session.conversation);
    this.reading.look();
    this.#draw();
    this.finder.look();
  }

  /** Look for what was said, and go there. */
  async search() {
    if (this.#over || this.host.querySelector("dialog[open]")) return;
    this.shell.showSide(false);
    const found = await new SearchDialog(this).open();
    if (found && !this.#over) await this.finder.go(found);
  }

  /**
   * @param {string} id
   * @param {Partial<Conversation>} changes
   */
  #patch(id, changes) {
    this.directory.patch(id, changes);
    this.#draw();
  }

  async #loadList() {
    const { directory, session } = this;
    const before = directory.headsBeside(session?.conversation);
    await directory.refresh();
    if (this.#over) return;
    if (session && directory.status === "ready" && !directory.find(session.conversation)) await this.#loadCurrent(session.conversation);
    this.#tellTools();
    this.#drawEmpty();
    this.#draw();
    if (directory.headsBeside(this.session?.conversation) !== before) void this.#loadElsewhere();
  }

  #tellTools() {
    const { tools } = this.timeline;
    tools.surface = this.current?.surface ?? "";
    tools.readOnly = this.current?.read_only ?? false;
  }

  /** @param {string} id  of a chat that is not on the first pages of the list */
  async #loadCurrent(id) {
    try {
      await this.directory.fetch(id);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404 && this.session?.conversation === id) await this.#leave(id);
    }
  }

  /** @param {string} id  of a chat that is no more */
  async #leave(id) {
    this.session?.abandon();
    this.session = null;
    this.directory.remove(id);
    await this.store.dropConversation(id);
    await this.#openFirst();
  }

  async #loadAccounts() {
    await this.directory.loadAccounts();
    this.#drawEmpty();
    this.#draw();
  }

  async #loadElsewhere() {
    const { session } = this;
    const chat = this.current;
    if (!session || !chat || chat.read_only || !chat.reads) return;
    const found = await this.contexts.elsewhere(session, chat.surface);
    if (session === this.session) this.timeline.setElsewhere(found);
  }

  async #remembers() {
    const { session } = this;
    if (session && (await new MemoryDialog(this, session.conversation).open())) void this.#loadElsewhere();
  }

  /** @param {string} clientId */
  #takeBack(clientId) {
    const text = this.session?.queue.discard(clientId) ?? "";
    if (!this.composer.text) this.composer.setText(text);
    this.composer.focus();
  }

  /** @param {string} surface */
  async #account(surface) {
    this.shell.showSide(false);
    const onChange = () => void Promise.all([this.#loadAccounts(), this.#loadList()]);
    const label = this.directory.labelOf(surface);
    await new AccountsDialog({ host: this.host, texts: this.texts, api: this.api, onChange }, surface, label).open();
  }

  #draw() {
    this.shell.draw(this.#model, () => void this.openNew());
    this.#drawBadge();
  }

  #drawEmpty() {
    const shared = (/** @type {boolean} */ now) => (this.#newShared = now);
    this.shell.drawEmpty(this.#model, this.#newShared, shared, (surface) => void this.#account(surface));
  }

  #drawBadge() {
    showBadge(countUnread(this.directory.conversations, this.session));
  }

  get #model() {
    return { session: this.session, chat: this.current, directory: this.directory, busy: this.#busy };
  }

  #listen() {
    const look = () => {
      this.#drawBadge();
      if (document.visibilityState !== "visible") return;
      this.reading.look();
      void this.#loadList();
    };
    const escape = (/** @type {Event} */ event) => {
      if (/** @type {KeyboardEvent} */ (event).key === "Escape" && this.shell.sideIsOpen) this.shell.showSide(false);
    };
    const shortcut = (/** @type {Event} */ event) => {
      const { key, ctrlKey, metaKey, target } = /** @type {KeyboardEvent} */ (event);
      const ours = target === document.body || (target instanceof Node && this.host.contains(target));
      if (key.toLowerCase() !== "k" || !(ctrlKey || metaKey) || !ours || event.defaultPrevented) return;
      event.preventDefault();
      void this.search();
    };
    const timer = setInterval(look, LIST_POLL);
    this.#unlisten.push(
      () => clearInterval(timer),
      followKeyboard(this.host),
      listen(window, "pagehide", () => this.session?.keepNow()),
      listen(window, "focus", look),
      listen(document, "visibilitychange", look),
      listen(this.host, "keydown", escape),
      listen(document, "keydown", shortcut),
    );
  }

  /**
   * @param {"signed_out" | "other_sign_in"} why
   * @param {boolean} [tell]  the other tabs
   */
  #signedOut(why, tell = true) {
    if (this.#over) return;
    this.#end();
    this.session?.abandon();
    this.session = null;
    remember(this.config.user, "");
    // What another person's tab keeps is theirs: only a sign-out empties the copy.
    if (why === "signed_out") void this.store.drop({ tell }).then(() => this.store.close());
    else this.store.close();
    this.host.replaceChildren(signedOutPlace(this.texts, why, this.config.login));
  }
}
