/**
 * A short list of deeds next to the button that opened it. The browser's popover brings Escape, the click
 * beside it and the way back of the focus.
 */

import { h } from "./dom.js";

/** Pixels kept free between a list and the edge of the window. */
const MARGIN = 8;

/**
 * @typedef {object} Choice
 * @property {string} name  value of data-cm
 * @property {string} label
 * @property {() => void} act
 * @property {boolean} [danger]
 */

/**
 * @param {HTMLElement} host  the element whose styles reach the list
 * @param {HTMLElement} anchor  the button
 * @param {readonly Choice[]} choices
 */
export function openMenu(host, anchor, choices) {
  // The press that reaches us here has just closed the list by falling beside it.
  if (anchor.getAttribute("aria-expanded") === "true") return;
  const list = h(
    "div",
    { class: "cm-menu-items cm-popover", popover: "auto", "data-cm": "message-actions" },
    choices.map(({ name, label, act, danger }) => {
      const run = () => {
        list.hidePopover();
        act();
      };
      return h("button", { type: "button", class: danger ? "cm-bad" : null, "data-cm": name, onclick: run }, label);
    }),
  );
  list.addEventListener("toggle", (event) => {
    if (/** @type {ToggleEvent} */ (event).newState === "open") return;
    anchor.setAttribute("aria-expanded", "false");
    list.remove();
  });
  host.append(list);
  anchor.setAttribute("aria-expanded", "true");
  list.showPopover();
  place(list, anchor.getBoundingClientRect());
  list.querySelector("button")?.focus({ preventScroll: true });
}

/**
 * Below the button where there is room, else above it, and always inside the window.
 * @param {HTMLElement} list
 * @param {DOMRect} at
 */
function place(list, at) {
  const { offsetWidth: width, offsetHeight: height } = list;
  const below = at.bottom + height + MARGIN <= innerHeight;
  const start = getComputedStyle(list).direction === "rtl" ? at.right - width : at.left;
  list.style.top = `${Math.max(MARGIN, below ? at.bottom : at.top - height)}px`;
  list.style.left = `${Math.min(Math.max(MARGIN, start), innerWidth - width - MARGIN)}px`;
}
