/** Texts with Telegram's entities as DOM nodes. Offsets are UTF-16 code units, which is how JavaScript counts too. */

const TAGS = {
  bold: "strong", italic: "em", underline: "u", strikethrough: "s", code: "code", pre: "pre",
  blockquote: "blockquote", expandable_blockquote: "blockquote",
};

/** @returns {DocumentFragment} `text` marked up by `entities`; `onCommand(text)` is called for a tapped command. */
export function render(text, entities, onCommand) {
  const usable = (entities ?? []).filter((e) => e.length > 0 && e.offset >= 0 && e.offset < text.length);
  usable.sort((a, b) => a.offset - b.offset || b.length - a.length);
  const fragment = document.createDocumentFragment();
  fill(fragment, text, 0, text.length, usable, onCommand);
  return fragment;
}

function fill(parent, text, start, end, entities, onCommand) {
  let at = start;
  for (let i = 0; i < entities.length; i += 1) {
    const entity = entities[i];
    const from = Math.max(entity.offset, at);
    const to = Math.min(entity.offset + entity.length, end);
    if (from >= to) continue;
    // What begins inside this entity is drawn inside it; what crosses its end goes on after it.
    const inner = [];
    const after = [];
    for (const other of entities.slice(i + 1)) {
      if (other.offset >= to) { after.push(other); continue; }
      inner.push(other);
      const past = other.offset + other.length;
      if (past > to) after.push({ ...other, offset: to, length: past - to });
    }
    if (from > at) parent.append(text.slice(at, from));
    const node = element(entity, text.slice(from, to), onCommand);
    fill(node, text, from, to, inner, onCommand);
    parent.append(node);
    // A block ends its line by itself: the line break after it would show as an empty line.
    const next = (node.matches("pre, blockquote") && text[to] === "\n") ? to + 1 : to;
    fill(parent, text, next, end, after, onCommand);
    return;
  }
  if (at < end) parent.append(text.slice(at, end));
}

function element(entity, covered, onCommand) {
  if (TAGS[entity.type]) {
    return document.createElement(TAGS[entity.type]);
  }
  if (entity.type === "url" || entity.type === "text_link") {
    const url = safe(entity.type === "url" ? covered : entity.url);
    if (url) {
      const link = document.createElement("a");
      link.href = url;
      link.target = "_blank";
      link.rel = "noopener noreferrer";
      return link;
    }
  }
  if (entity.type === "bot_command") {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "command";
    button.addEventListener("click", () => onCommand(covered));
    return button;
  }
  const span = document.createElement("span");
  if (entity.type === "spoiler") {
    span.className = "spoiler";
    span.tabIndex = 0;
    span.addEventListener("click", () => span.classList.toggle("open"));
  }
  return span;
}

/** @returns {string | null} an address that may be opened: http and https only. */
export function safe(address) {
  try {
    const url = new URL(/^[a-z][a-z0-9+.-]*:/i.test(address) ? address : `https://${address}`);
    return url.protocol === "http:" || url.protocol === "https:" ? url.href : null;
  } catch {
    return null;
  }
}
