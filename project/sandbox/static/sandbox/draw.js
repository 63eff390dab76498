/** How messages look. Everything a person or a bot wrote becomes text nodes, never markup. */

import { render, safe } from "./entities.js";

export const words = document.getElementById("words").dataset;
const language = document.documentElement.lang;

/** @returns {string} the time of `seconds` (Unix) as people write it here. */
export function clock(seconds) {
  return new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" }).format(seconds * 1000);
}

/** @returns {string} the day of `seconds` (Unix), in words when it is near. */
export function day(seconds) {
  const date = new Date(seconds * 1000);
  const now = new Date();
  const yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  if (date.toDateString() === now.toDateString()) return words.today;
  if (date.toDateString() === yesterday.toDateString()) return words.yesterday;
  const year = date.getFullYear() === now.getFullYear() ? undefined : "numeric";
  return new Intl.DateTimeFormat(language, { weekday: "long", day: "numeric", month: "long", year }).format(date);
}

/**
 * @param {object} message as the chat door tells it; `note` instead of the tick, `retry` to send again, `draft` for a preview
 * @param {{say: Function, press: Function, pressed: string[], answered?: object}} handlers
 * @returns {HTMLElement}
 */
export function bubble(message, { say, press, pressed, answered }) {
  const mine = message.direction === "in";
  const row = make("div", `message${mine ? " me" : ""}${message.draft ? " draft" : ""}`);
  if (message.message_id) row.dataset.message = message.message_id;
  const body = make("div", "bubble");
  if (answered) body.append(make("div", "reply", answered.text));
  if (message.media) body.append(medium(message));
  if (message.text || !message.media) {
    const text = make("div", "text");
    text.append(render(message.text, message.entities, say));
    body.append(text);
  }
  if (!message.draft) body.append(meta(message, mine));
  row.append(body);
  const keys = keyboard(message, { say, press, pressed });
  if (keys) row.append(keys);
  return row;
}

/** A picture as one; of everything else what it is and, if it was sent here, its name, which opens it. */
function medium({ media, file }) {
  const word = words[media] ?? words.attachment;
  if (!file) return make("div", "media", word);
  const address = document.getElementById("phone").dataset.sent.replace(/0$/, encodeURIComponent(file.id));
  if (media === "photo") {
    const picture = make("img", "picture");
    picture.src = address;
    picture.alt = file.name;
    return picture;
  }
  const box = make("div", "media", `${word}: `);
  const link = make("a", "", file.name);
  link.href = address;
  link.download = file.name;
  box.append(link);
  return box;
}

function meta(message, mine) {
  const line = make("div", "meta");
  if (message.edited) line.append(make("span", "", words.edited));
  const time = make("time", "", clock(message.date));
  time.dateTime = new Date(message.date * 1000).toISOString();
  line.append(time);
  if (message.retry) {
    const again = make("button", "again", message.note);
    again.type = "button";
    again.addEventListener("click", message.retry);
    line.append(again);
  } else if (message.note) line.append(make("span", "", message.note));
  else if (mine) {
    const tick = make("span", "", "✓");
    tick.setAttribute("role", "img");
    tick.setAttribute("aria-label", words.sent);
    line.append(tick);
  }
  return line;
}

function keyboard(message, { say, press, pressed }) {
  const markup = message.reply_markup ?? {};
  const rows = markup.inline_keyboard ?? markup.keyboard;
  if (!rows?.length) return null;
  const box = make("div", "keys");
  for (const row of rows) {
    const line = make("div", "keyrow");
    for (const button of row) line.append(key(message, button, { say, press, pressed }));
    box.append(line);
  }
  return box;
}

function key(message, button, { say, press, pressed }) {
  const label = typeof button === "string" ? button : button.text;
  const url = button.url && safe(button.url);
  if (url) {
    const link = make("a", "", `${label} ↗`);
    link.href = url;
    link.target = "_blank";
    link.rel = "noopener noreferrer";
    return link;
  }
  const node = make("button", "", label);
  node.type = "button";
  if (button.callback_data !== undefined) {
    if (pressed.includes(`${message.message_id} ${button.callback_data}`)) node.setAttribute("aria-busy", "true");
    node.addEventListener("click", () => press(message, button.callback_data));
  } else if (message.reply_markup.keyboard) {
    node.addEventListener("click", () => say(label));
  } else {
    node.disabled = true;
    node.className = "inert";
  }
  return node;
}

/** @returns {HTMLElement} three dots where the answer will stand. */
export function typing() {
  const row = make("div", "message typing");
  const body = make("div", "bubble");
  body.setAttribute("aria-hidden", "true");
  body.append(make("i"), make("i"), make("i"));
  row.append(body);
  return row;
}

function make(tag, className = "", text = "") {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  return node;
}
