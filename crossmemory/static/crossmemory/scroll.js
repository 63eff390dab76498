/**
 * Where the reader stands in the log: at the end, and then kept there, or somewhere above, and then left alone.
 */

/** Pixels from the end within which the reader counts as being at the end. */
const NEAR = 80;

/** Elements remembered as what the reader looks at: one of them survives the next drawing. */
const WITNESSES = 4;

export class Reader {
  /** True while the end is in view, as far as is known: a reader who scrolled is believed at once. */
  #atEnd = true;
  #height = 0;

  /**
   * @param {HTMLElement} scroller
   * @param {HTMLElement} log  the ordered list inside it
   * @param {HTMLButtonElement} newest  shown while the end is out of view
   */
  constructor(scroller, log, newest) {
    this.scroller = scroller;
    this.log = log;
    this.newest = newest;
    scroller.addEventListener("scroll", () => this.look(), { passive: true });
    // The keyboard of a phone makes the log shorter: the end stays in view for who was there.
    new ResizeObserver(() => {
      if (this.#atEnd) this.toEnd();
      else this.look();
    }).observe(scroller);
  }

  /** Another conversation: it is read from its end. */
  reset() {
    this.#atEnd = true;
    this.newest.hidden = true;
  }

  toEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.#height = this.scroller.clientHeight;
    this.#atEnd = true;
    this.newest.hidden = true;
  }

  /** Look where the reader is now. */
  look() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    this.#height = clientHeight;
    // Where nothing is drawn (another tab of a small screen) nobody scrolls.
    if (clientHeight > 0) this.#atEnd = scrollHeight - scrollTop - clientHeight < NEAR;
    this.newest.hidden = this.#atEnd;
  }

  /**
   * Before something is drawn: is the reader at the end? Asked of the page itself, because the event of a
   * scroll comes late; unless its height has just changed, which moves the end and not the reader.
   * @returns {boolean}
   */
  isAtEnd() {
    if (this.scroller.clientHeight === this.#height) this.look();
    return this.#atEnd;
  }

  /**
   * Remember what the reader looks at, so that it stays where it is when something is added above.
   * @returns {() => void}
   */
  hold() {
    const { scrollTop } = this.scroller;
    const children = /** @type {HTMLCollectionOf<HTMLElement>} */ (this.log.children);
    /** @type {{element: HTMLElement, from: number}[]} */
    const seen = [];
    for (let at = firstBelow(children, scrollTop); at < children.length && seen.length < WITNESSES; at += 1) {
      const element = /** @type {HTMLElement} */ (children[at]);
      if (element.dataset["cm"]) seen.push({ element, from: element.offsetTop });
    }
    return () => {
      const witness = seen.find(({ element }) => element.isConnected);
      if (witness) this.scroller.scrollTop = scrollTop + witness.element.offsetTop - witness.from;
    };
  }
}

/**
 * @param {HTMLCollectionOf<HTMLElement>} children  one below the other
 * @param {number} top  pixels
 * @returns {number} place of the first that reaches below `top`
 */
function firstBelow(children, top) {
  let [from, to] = [0, children.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    const { offsetTop, offsetHeight } = /** @type {HTMLElement} */ (children[middle]);
    if (offsetTop + offsetHeight <= top) from = middle + 1;
    else to = middle;
  }
  return from;
}
