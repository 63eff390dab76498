/** The demo page: its parts at narrow widths, and the checklist of the scene that plays. */

import { perform } from "./scenes.js";
import { Broken, say } from "./waiting.js";

const play = JSON.parse(document.getElementById("play").textContent);
const body = document.body;
const playing = document.getElementById("playing");
const [stopButton, againButton, shutButton] = ["stop", "again", "shut"].map((id) => document.getElementById(id));
const tabs = [...document.querySelectorAll(".tabs [data-show]")];
const starters = [...document.querySelectorAll("[data-scene]")];
const narrow = matchMedia("(max-width: 56rem)");
let current = null; // {name, abort} of the scene that plays

function show(pane) {
  body.dataset.show = pane;
  for (const tab of tabs) tab.setAttribute("aria-pressed", String(tab.dataset.show === pane));
  // Wide, the second tab lies where the phone is.
  if (pane === "phone" && !second.pane.hidden && !narrow.matches) second.close();
}

const second = {
  pane: document.querySelector(".pane.second"),
  frame: document.getElementById("second"),
  open(conversation) {
    this.frame.src = play.tab.replace("{id}", conversation);
    this.lay(true);
    return this.frame;
  },
  close() {
    this.lay(false);
    this.frame.removeAttribute("src");
    this.frame.src = "about:blank";
    if (body.dataset.show === "tab") show("web");
  },
  lay(open) {
    this.pane.hidden = !open;
    document.querySelector(".pane.phone").classList.toggle("covered", open);
    tabs.find((tab) => tab.dataset.show === "tab").hidden = !open;
  },
};

function mark(article, key, state, proof = "") {
  const row = article.querySelector(`[data-step="${key}"]`);
  row.dataset.state = state;
  row.querySelector(".word").textContent = `: ${say(state)}`;
  row.querySelector(".proof").textContent = proof;
}

async function start(name) {
  if (current) return;
  second.close();
  const article = document.getElementById(`scene-${name}`);
  const starter = starters.find((button) => button.dataset.scene === name);
  const verdict = article.querySelector(".verdict");
  const abort = new AbortController();
  current = { name, abort };
  for (const other of playing.querySelectorAll("article")) other.hidden = other !== article;
  for (const button of starters) {
    button.dataset.off ??= String(button.disabled);
    button.disabled = true;
    button.setAttribute("aria-current", String(button === starter));
  }
  for (const row of article.querySelectorAll("[data-step]")) mark(article, row.dataset.step, "open");
  verdict.textContent = "";
  article.dataset.state = "playing";
  playing.hidden = false;
  stopButton.hidden = false;
  againButton.hidden = shutButton.hidden = true;
  let under = null;
  const step = async (key, act) => {
    under = key;
    mark(article, key, "running");
    const found = (await act()) ?? {};
    mark(article, key, "done", found.proof ?? "");
    under = null;
    return found;
  };
  const more = (message) => {
    const line = article.querySelector(".more");
    if (!line) return;
    line.hidden = false;
    line.querySelector("a").href = play.run.replace("{id}", message);
  };
  try {
    await perform(name, { step, show, more, play, second, csrf: csrf(), signal: abort.signal });
    finish("held", say("held"));
  } catch (error) {
    if (abort.signal.aborted) {
      if (under) mark(article, under, "open");
      finish("stopped", say("stopped"));
    } else {
      if (under) mark(article, under, "failed");
      if (!(error instanceof Broken)) console.warn(error);
      finish("broke", say("broke", { why: error.message }));
    }
  }

  function finish(state, text) {
    article.dataset.state = starter.dataset.state = state;
    verdict.textContent = text;
    current = null;
    for (const button of starters) button.disabled = button.dataset.off === "true";
    stopButton.hidden = true;
    againButton.hidden = shutButton.hidden = false;
    againButton.onclick = () => start(name);
  }
}

function csrf() {
  return document.querySelector("input[name=csrfmiddlewaretoken]").value;
}

for (const tab of tabs) tab.addEventListener("click", () => show(tab.dataset.show));
for (const button of starters) button.addEventListener("click", () => start(button.dataset.scene));
stopButton.addEventListener("click", () => current?.abort.abort());
shutButton.addEventListener("click", () => {
  playing.hidden = true;
  second.close();
  const starter = starters.find((button) => button.getAttribute("aria-current") === "true");
  starter?.setAttribute("aria-current", "false");
  starter?.focus();
});
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll(".account[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  const menu = document.querySelector(".account[open]");
  if (event.key !== "Escape" || !menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
show("web");
