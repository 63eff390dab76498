/** The phone: asks for what changed, draws it, and sends what the person says. */

import { bubble, day, typing, words } from "./draw.js";

const EVERY = 700; // milliseconds between two looks, while the page is visible
const SLOWEST = 5000;

const phone = document.getElementById("phone");
const log = document.getElementById("log");
const form = document.getElementById("composer");
const input = document.getElementById("text");
const filesInput = document.getElementById("files");
const stateLine = document.getElementById("state");
const alertLine = document.getElementById("alert");
const startButton = document.getElementById("start");
const downButton = document.getElementById("down");
const blockButton = document.getElementById("block");
const { user, bot } = phone.dataset;

const messages = new Map(); // message_id -> message as the server tells it
const pending = []; // said here, not yet known to the server: {key, text, failed}
const pressed = new Map(); // callback_query_id -> key of the button that waits
let version = 0;
let more = false;
let chat = { blocked: false, action: null, draft: null };
let failures = 0;
let timer = null;
let looking = false;
let shown = "";

async function ask(address, body) {
  const options = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ bot, ...body }),
  };
  const response = await fetch(address, { ...options, credentials: "same-origin", cache: "no-store" });
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.error ?? response.statusText), { refused: true });
  return answer;
}

async function look() {
  if (looking) return;
  looking = true;
  clearTimeout(timer);
  try {
    const found = await ask(`${phone.dataset.chat}?chat_id=${user}&since=${version}&bot=${bot}`);
    failures = 0;
    if (found.version < version) { messages.clear(); version = 0; } // the sandbox was emptied: begin again
    else {
      if (version === 0) more = found.more;
      version = found.version;
      for (const message of found.messages) messages.set(message.message_id, message);
      for (const answer of found.answers) answered(answer);
      chat = found;
      commands(found.bot.commands);
    }
  } catch {
    failures += 1;
  }
  looking = false;
  draw();
  if (!document.hidden) timer = setTimeout(look, Math.min(EVERY * 2 ** Math.min(failures, 5), failures ? SLOWEST : EVERY));
}

function draw() {
  const state = failures > 1 ? "offline" : chat.action ? "typing" : "bot";
  stateLine.textContent = words[state];
  stateLine.className = `state ${state === "typing" ? "busy" : state === "offline" ? "bad" : ""}`;
  blockButton.textContent = chat.blocked ? words.unblock : words.block;
  const picture = JSON.stringify([version, pending, [...pressed.values()], chat.blocked, chat.action, chat.draft, failures > 1]);
  if (picture === shown) return;
  shown = picture;
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
  const rows = [];
  if (more) rows.push(pill(words.earlier));
  let last = "";
  const list = [...messages.values()].filter((m) => !m.deleted).sort((a, b) => a.message_id - b.message_id);
  for (const message of list) {
    const today = day(message.date);
    if (today !== last) rows.push(pill(today));
    last = today;
    rows.push(bubble(message, { say, press, pressed: [...pressed.values()], answered: messages.get(message.reply_to_message_id) }));
  }
  for (const item of pending) rows.push(waiting(item));
  if (!rows.length && version >= 0) rows.push(pill(words.empty, true));
  if (chat.draft) rows.push(bubble({ direction: "out", text: chat.draft, entities: [], draft: true }, { say, press, pressed: [] }));
  else if (chat.action) rows.push(typing());
  if (chat.blocked) rows.push(pill(words.blocked, true));
  log.replaceChildren(...rows);
  if (atEnd || !last) toEnd();
  downButton.hidden = atEnd;
}

function pill(text, wide = false) {
  const node = document.createElement("p");
  node.className = wide ? "pill wide" : "pill";
  node.textContent = text;
  return node;
}

function waiting(item) {
  const node = bubble(
    {
      direction: "in", text: item.text, entities: [], date: item.at,
      note: item.failed ? words.failed : words.sending, retry: item.failed ? () => deliver(item) : null,
    },
    { say, press, pressed: [] },
  );
  node.classList.add(item.failed ? "failed" : "pending");
  return node;
}

function toEnd() {
  log.scrollTop = log.scrollHeight;
  downButton.hidden = true;
}

function say(text) {
  const item = { text, failed: false, at: Math.floor(Date.now() / 1000) };
  pending.push(item);
  draw();
  toEnd();
  return deliver(item);
}

async function deliver(item) {
  item.failed = false;
  draw();
  try {
    const said = await ask(phone.dataset.say, { user_id: Number(user), text: item.text });
    // Shown at once; the next look brings the stored one under the same id.
    messages.set(said.message_id, { message_id: said.message_id, direction: "in", text: item.text, entities: [], date: item.at });
    pending.splice(pending.indexOf(item), 1);
    tell("");
  } catch (error) {
    item.failed = true;
    if (error.refused) tell(error.message);
  }
  draw();
  await look();
}

/** Files go as they are picked, with what stands in the line as their caption. */
async function send(picked) {
  const form = new FormData();
  form.append("bot", bot);
  form.append("user_id", user);
  form.append("caption", input.value);
  for (const file of picked) form.append("file", file);
  const label = filesInput.parentElement;
  label.setAttribute("aria-busy", "true");
  try {
    const response = await fetch(phone.dataset.send, { method: "POST", body: form, credentials: "same-origin" });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    input.value = "";
    grow();
    tell("");
  } catch (error) {
    tell(error.message || words.failed);
  }
  label.removeAttribute("aria-busy");
  filesInput.value = "";
  await look();
  toEnd();
}

async function press(message, data) {
  const key = `${message.message_id} ${data}`;
  if ([...pressed.values()].includes(key)) return;
  try {
    const tap = await ask(phone.dataset.press, { user_id: Number(user), message_id: message.message_id, data });
    pressed.set(tap.callback_query_id, key);
    setTimeout(() => { pressed.delete(tap.callback_query_id); draw(); }, 15000);
  } catch (error) {
    tell(error.message);
  }
  draw();
}

function answered(answer) {
  pressed.delete(answer.callback_query_id);
  if (answer.text) tell(answer.text, true);
}

function tell(text, note = false) {
  alertLine.textContent = text;
  alertLine.hidden = !text;
  alertLine.classList.toggle("note", note);
  if (note) setTimeout(() => { if (alertLine.textContent === text) alertLine.hidden = true; }, 4000);
}

function commands(list) {
  const menu = document.getElementById("commands");
  menu.hidden = !list.length;
  const box = document.getElementById("commandlist");
  if (box.childElementCount === list.length) return;
  box.replaceChildren(...list.map(({ command, description }) => {
    const button = document.createElement("button");
    button.type = "button";
    const small = document.createElement("small");
    small.textContent = description;
    button.append(`/${command}`, small);
    button.addEventListener("click", () => { menu.open = false; say(`/${command}`); });
    return button;
  }));
}

function grow() {
  input.style.height = "auto";
  input.style.height = `${input.scrollHeight + 2}px`;
  form.querySelector(".send").disabled = !input.value.trim();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const text = input.value;
  if (!text.trim()) return;
  input.value = "";
  grow();
  say(text);
});
input.addEventListener("input", grow);
filesInput.addEventListener("change", () => { if (filesInput.files.length) send([...filesInput.files]); });
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    form.requestSubmit();
  }
});
startButton.addEventListener("click", () => {
  startButton.hidden = true;
  form.hidden = false;
  history.replaceState(null, "", location.pathname); // a reload does not offer the code again
  say(phone.dataset.start);
});
blockButton.addEventListener("click", async () => {
  document.getElementById("menu").open = false;
  await ask(phone.dataset.block, { user_id: Number(user), blocked: !chat.blocked }).catch((error) => tell(error.message));
  look();
});
downButton.addEventListener("click", toEnd);
log.addEventListener("scroll", () => {
  if (log.scrollHeight - log.scrollTop - log.clientHeight < 60) downButton.hidden = true;
});
document.addEventListener("click", (event) => {
  for (const open of document.querySelectorAll("details[open]")) if (!open.contains(event.target)) open.open = false;
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
window.addEventListener("online", look);

look();
