/**
 * Making and matching elements, without a framework.
 */

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Make an element. Text is always text; `on…` are listeners; `true` and `false` switch plain attributes.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) element.append(/** @type {Node | string} */ (child));
  }
  return element;
}

/**
 * One wanted child: kept while `same` is equal, else changed by `update` or made anew.
 * @typedef {object} Entry
 * @property {string} key
 * @property {readonly unknown[]} same  compared one by one, by identity
 * @property {() => HTMLElement} make
 * @property {(element: HTMLElement, before: readonly unknown[]) => boolean} [update]  false: make anew
 */

/** Keeps a container's children equal to a list of entries, touching only what changed. */
export class Keyed {
  /** @type {Map<string, {element: HTMLElement, same: readonly unknown[]}>} */
  #held = new Map();

  /** @param {HTMLElement} container */
  constructor(container) {
    this.container = container;
  }

  /**
   * @param {string} key
   * @returns {HTMLElement | undefined}
   */
  get(key) {
    return this.#held.get(key)?.element;
  }

  /** @param {readonly Entry[]} entries */
  show(entries) {
    const before = this.#held;
    /** @type {typeof before} */
    const after = new Map();
    const wanted = new Set(entries.map(({ key }) => key));
    for (const [key, { element }] of before) if (!wanted.has(key)) element.remove();
    /** @type {ChildNode | null} */
    let place = this.container.firstChild;
    for (const entry of entries) {
      const old = before.get(entry.key);
      const element = this.#element(entry, old);
      let focused = false;
      let name = "";
      if (old && old.element !== element) {
        const active = document.activeElement;
        focused = active !== null && old.element.contains(active);
        name = (focused && /** @type {HTMLElement} */ (active).dataset["cm"]) || "";
        if (place === old.element) place = place.nextSibling;
        old.element.remove();
      }
      if (element === place) place = place.nextSibling;
      else this.container.insertBefore(element, place);
      if (focused) refocus(element, name);
      after.set(entry.key, { element, same: entry.same });
    }
    this.#held = after;
  }

  /**
   * @param {Entry} entry
   * @param {{element: HTMLElement, same: readonly unknown[]} | undefined} old
   */
  #element(entry, old) {
    if (!old) return entry.make();
    const equal = old.same.length === entry.same.length && old.same.every((value, i) => value === entry.same[i]);
    return equal || entry.update?.(old.element, old.same) ? old.element : entry.make();
  }
}

/**
 * The keyboard stays where it was when an element is drawn anew: at the same part, or else at the element.
 * @param {HTMLElement} element
 * @param {string} name  value of data-cm
 */
function refocus(element, name) {
  const same = name ? /** @type {HTMLElement | null} */ (element.querySelector(`[data-cm="${name}"]:not(:disabled)`)) : null;
  if (!same && element.tabIndex < 0) element.tabIndex = -1;
  (same ?? element).focus({ preventScroll: true });
}
