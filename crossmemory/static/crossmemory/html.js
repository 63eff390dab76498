/**
 * Shows an answer's HTML. The server has sanitised it; this is the second line: what is not on the list
 * does not reach the page, whatever the server let through.
 */

const TAGS = new Set(
  (
    "A ABBR B BLOCKQUOTE BR CODE DD DEL DIV DL DT EM H1 H2 H3 H4 H5 H6 HR I INS KBD LI OL P PRE S SAMP SMALL " +
    "SPAN STRONG SUB SUP TABLE TBODY TD TFOOT TH THEAD TR U UL"
  ).split(" "),
);
const ATTRIBUTES = new Set(["href", "title", "lang", "start", "colspan", "rowspan", "align"]);
const LINKS = /^(?:https?:|mailto:|tel:)/i;
const BLOCKS = "p,li,h1,h2,h3,h4,h5,h6,blockquote,td,th,dt,dd,div";

/** @type {{createHTML: (html: string) => any} | null | undefined} */
let policy;

/**
 * @param {string} html
 * @returns {DocumentFragment}
 */
export function safeFragment(html) {
  const template = document.createElement("template");
  // A template's content is inert: nothing runs and nothing loads while it is looked through.
  template.innerHTML = trusted(html);
  for (const element of [...template.content.querySelectorAll("*")]) clean(element);
  for (const block of template.content.querySelectorAll(BLOCKS)) block.setAttribute("dir", "auto");
  for (const code of template.content.querySelectorAll("pre")) {
    code.setAttribute("dir", "ltr");
    code.setAttribute("tabindex", "0");
  }
  return template.content;
}

/** @param {Element} element */
function clean(element) {
  if (!TAGS.has(element.tagName)) {
    element.remove();
    return;
  }
  for (const { name } of [...element.attributes]) if (!ATTRIBUTES.has(name)) element.removeAttribute(name);
  if (!element.hasAttribute("href")) return;
  if (element.tagName !== "A" || !LINKS.test((element.getAttribute("href") ?? "").trim())) {
    element.removeAttribute("href");
    return;
  }
  element.setAttribute("rel", "noopener noreferrer nofollow");
  element.setAttribute("target", "_blank");
}

/** @param {string} html */
function trusted(html) {
  if (policy === undefined) {
    try {
      const factory = /** @type {any} */ (globalThis).trustedTypes;
      policy = factory?.createPolicy("crossmemory", { createHTML: (/** @type {string} */ text) => text }) ?? null;
    } catch {
      policy = null;
    }
  }
  return policy ? policy.createHTML(html) : html;
}
