/**
 * What the page itself remembers and where it finds the sockets.
 */

import { listen } from "./listen.js";

/**
 * @param {string} path  below which the sockets are
 * @param {string} id
 * @returns {string} ws: or wss:, like the page
 */
export function socketAddress(path, id) {
  const address = new URL(`${path}${encodeURIComponent(id)}/`, location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  return address.href;
}

/**
 * The chat this tab had open before a reload.
 * @param {string} user
 * @returns {string}
 */
export function remembered(user) {
  try {
    return sessionStorage.getItem(`crossmemory.open.${user}`) ?? "";
  } catch {
    return "";
  }
}

/**
 * @param {string} user
 * @param {string} id  empty forgets
 */
export function remember(user, id) {
  try {
    if (id) sessionStorage.setItem(`crossmemory.open.${user}`, id);
    else sessionStorage.removeItem(`crossmemory.open.${user}`);
  } catch {
    // Without session storage a reload opens the newest chat.
  }
}

/**
 * Keep the element above a keyboard that lies over the page: tells the style sheet how much is covered.
 * @param {HTMLElement} host
 * @returns {() => void} stops it
 */
export function followKeyboard(host) {
  const view = globalThis.visualViewport;
  if (!view) return () => {};
  const measure = () => {
    const covered = host.getBoundingClientRect().bottom - (view.offsetTop + view.height);
    // Less than a keyboard is a toolbar or a page that scrolls: dvh units see to that.
    const keyboard = view.scale === 1 && covered > 80 && host.contains(document.activeElement);
    host.style.setProperty("--cm-keyboard", keyboard ? `${Math.round(covered)}px` : "0px");
  };
  return listen(view, "resize", measure);
}
