/**
 * Copying to the clipboard, and saying whether it worked.
 *
 * @import {Texts} from "./texts.js"
 */

import { h } from "./dom.js";

/** Milliseconds for which a button says what it did. */
const SAID_FOR = 2_500;

/**
 * @param {string} text
 * @returns {Promise<boolean>} false where the browser does not let a page copy
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * @param {Texts} texts
 * @param {() => string} text
 * @returns {HTMLElement}
 */
export function copyButton(texts, text) {
  const words = h("span", { "aria-live": "polite" }, texts.t("copy"));
  const button = h("button", { type: "button", class: "cm-copy", "data-cm": "copy-block" }, words);
  button.addEventListener("click", async () => {
    words.textContent = texts.t((await copyText(text())) ? "copied" : "copy_failed");
    setTimeout(() => (words.textContent = texts.t("copy")), SAID_FOR);
  });
  return button;
}

/**
 * Give every code block of an answer its button.
 * @param {HTMLElement} rich
 * @param {Texts} texts
 */
export function addCopyButtons(rich, texts) {
  for (const block of rich.querySelectorAll("pre")) {
    const frame = h("div", { class: "cm-code" });
    block.replaceWith(frame);
    frame.append(block, copyButton(texts, () => block.textContent ?? ""));
  }
}
