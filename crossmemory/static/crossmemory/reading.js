/**
 * What counts as read, and how many messages the title of the page says are not.
 *
 * Read is what was looked at: the page is visible and has the focus.
 *
 * @import {Conversation} from "./types.js"
 * @import {Session} from "./session.js"
 */

/** Milliseconds of looking after which what came counts as read. */
const READ_AFTER = 400;

const BADGE = /^\(\d+\) /;

/** True while somebody looks at the page, as far as a page can know. */
export function isLookedAt() {
  return document.visibilityState === "visible" && document.hasFocus();
}

export class Reading {
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #soon;

  /**
   * @param {() => Session | null} current
   * @param {(session: Session) => void} onRead
   */
  constructor(current, onRead) {
    this.current = current;
    this.onRead = onRead;
  }

  /** Soon, not at once: a run writes several events in a row. */
  look() {
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      const session = this.current();
      if (session?.complete && isLookedAt() && session.markRead()) this.onRead(session);
    }, READ_AFTER);
  }

  stop() {
    clearTimeout(this.#soon);
  }
}

/**
 * @param {readonly Conversation[]} conversations
 * @param {Session | null} session
 * @returns {number} answers that nobody has looked at: in the other chats, and here while nobody looks
 */
export function countUnread(conversations, session) {
  let count = 0;
  let readSeq = Infinity;
  for (const chat of conversations) {
    if (chat.id === session?.conversation) readSeq = chat.read_seq;
    else count += chat.unread;
  }
  return session && !isLookedAt() ? count + session.countUnread(readSeq) : count;
}

/**
 * "(2) My site": the site's own title stays as it is behind the number.
 * @param {number} count
 */
export function showBadge(count) {
  const own = document.title.replace(BADGE, "");
  const title = count > 0 ? `(${count}) ${own}` : own;
  if (title !== document.title) document.title = title;
}
