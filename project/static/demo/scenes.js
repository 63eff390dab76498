/**
 * What each scene does. A scene gets `step(key, act)`: the step is under way while `act` runs, and is ticked when it
 * returned, with what it returned as the proof. What does not hold throws Broken.
 */

import { Phone, Web } from "./hands.js";
import { ask, Broken, pause, say, until } from "./waiting.js";

/** A letter and two digits that nobody has said before, such as K47. */
function code(not = "") {
  const letters = "BCDFGHJKLMNPRSTVWXZ";
  for (;;) {
    const [a, b, c] = crypto.getRandomValues(new Uint32Array(3));
    const made = `${letters[a % letters.length]}${letters[b % letters.length]}${10 + (c % 90)}`;
    if (made !== not) return made;
  }
}

function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (gap, name) => values[name] ?? gap);
}

/** The text, if it has the code. */
function holds(text, wanted) {
  if (!text.includes(wanted)) throw new Broken(say("missing", { code: wanted }));
  return text;
}

async function tell({ step, web, phone, phrases, show }) {
  const made = code();
  await web.ready();
  show("web");
  const said = await step("say", async () => {
    const message = await web.say(fill(phrases.fact, { code: made }));
    return { ...message, proof: message.text };
  });
  await step("noted", async () => ({ proof: (await web.answer(said)).text }));
  show("phone");
  const asked = await step("ask", async () => ({ id: await phone.say(phrases.question), proof: phrases.question }));
  await step("knows", async () => ({ proof: holds((await phone.answer(asked.id)).text, made) }));
}

async function saw({ step, web, phone, phrases, show, more }) {
  const made = code();
  await web.ready();
  show("phone");
  await step("say", async () => {
    const text = fill(phrases.fact, { code: made });
    await phone.answer(await phone.say(text));
    return { proof: text };
  });
  show("web");
  const asked = await step("ask", async () => ({ ...(await web.say(phrases.question)), proof: phrases.question }));
  const answer = await step("knows", async () => {
    const found = await web.answer(asked);
    return { ...found, proof: holds(found.text, made) };
  });
  const fold = await step("open", async () => {
    const found = await until(() => {
      const message = web.messages().find((m) => m.seq === answer.seq);
      return message?.element.querySelector('[data-cm="saw"]');
    }, web.signal);
    found.querySelector("summary").click();
    found.scrollIntoView({ block: "nearest" });
    return { fold: found, proof: found.querySelector("summary").textContent };
  });
  await step("seen", async () => {
    const row = await until(
      () => [...fold.fold.querySelectorAll('[data-cm="seen"][data-surface="telegram"]')].find((r) => r.textContent.includes(made)),
      web.signal,
    );
    row.scrollIntoView({ block: "center" });
    return { proof: row.querySelector(".cm-text")?.textContent ?? row.textContent };
  });
  more(answer.id);
}

async function hidden({ step, web, phone, phrases, show }) {
  const made = code();
  show("web");
  await step("new", () => web.fresh(true));
  await step("say", async () => {
    const message = await web.say(fill(phrases.fact, { code: made }));
    await web.answer(message);
    return { proof: message.text };
  });
  await step("here", async () => {
    const asked = await web.say(phrases.question);
    return { proof: holds((await web.answer(asked)).text, made) };
  });
  show("phone");
  const asked = await step("ask", async () => ({ id: await phone.say(phrases.question), proof: phrases.question }));
  await step("unknown", async () => {
    const { text } = await phone.answer(asked.id);
    if (text.includes(made)) throw new Broken(say("leaked", { code: made }));
    return { proof: say("kept", { code: made }) };
  });
}

async function correction({ step, web, phone, phrases, show }) {
  const old = code();
  const newer = code(old);
  await web.ready();
  show("web");
  await step("say", async () => {
    const message = await web.say(fill(phrases.fact, { code: old }));
    await web.answer(message);
    return { proof: message.text };
  });
  show("phone");
  await step("correct", async () => {
    const text = fill(phrases.correction, { other: newer });
    await phone.answer(await phone.say(text));
    return { proof: text };
  });
  show("web");
  const asked = await step("ask", async () => ({ ...(await web.say(phrases.question)), proof: phrases.question }));
  await step("newer", async () => {
    const text = holds((await web.answer(asked)).text, newer);
    if (text.includes(old) && text.indexOf(old) < text.indexOf(newer)) throw new Broken(say("older"));
    return { proof: text };
  });
}

async function kill({ step, phone, phrases, show, play, csrf, signal }) {
  const { pid } = await ask(play.bot, { signal });
  if (pid === null) throw new Broken(say("bot"));
  show("phone");
  const made = code();
  await step("tell", async () => {
    const text = fill(phrases.fact, { code: made });
    await phone.answer(await phone.say(text));
    return { proof: text };
  });
  const asked = await step("ask", async () => ({ id: await phone.say(phrases.question), proof: phrases.question }));
  await step("writes", () => until(() => phone.writing(), signal, 30, 60));
  await step("kill", async () => {
    if ((await phone.replies(asked.id)).length > 0) throw new Broken(say("soon"));
    const { killed } = await ask(play.kill, { body: {}, csrf, signal });
    return { proof: say("process", { pid: killed }) };
  });
  await step("back", async () => {
    const found = await until(async () => {
      const now = await ask(play.bot, { signal });
      return now.pid !== null && now.pid !== pid && now;
    }, signal, 60, 400);
    return { proof: say("process", { pid: found.pid }) };
  });
  await step("answer", async () => ({ proof: holds((await phone.answer(asked.id, 90)).text, made) }));
  await step("once", async () => {
    const marker = await phone.say(phrases.marker);
    await phone.answer(marker, 90);
    return once(phone, asked.id, marker);
  });
}

async function five({ step, phone, phrases, show }) {
  const made = code();
  show("phone");
  const said = await step("say", async () => {
    const text = fill(phrases.fact, { code: made });
    return { id: await phone.say(text, 5), proof: text };
  });
  await step("reply", async () => ({ proof: (await phone.answer(said.id)).text }));
  const marker = await step("marker", async () => {
    const id = await phone.say(phrases.marker);
    return { id, proof: holds((await phone.answer(id)).text, made) };
  });
  await step("once", () => once(phone, said.id, marker.id));
}

/** Updates are dealt with in order: when a later message has its reply, all that came before has been dealt with. */
async function once(phone, first, marker) {
  const replies = await phone.replies(first);
  const count = replies.filter((reply) => reply.message_id < marker).length;
  if (count !== 1 || replies.length !== 2) throw new Broken(say("replies", { count: replies.length - 1 }));
  return { proof: say("reply") };
}

async function airplane({ step, web, phrases, show, second, signal }) {
  const made = { code: code() };
  await web.ready();
  show("web");
  const first = await step("first", async () => {
    const message = await web.say(fill(phrases.first, made));
    await web.answer(message);
    return { ...message, proof: message.text };
  });
  const tab = await step("second", async () => {
    const frame = second.open(web.conversation);
    const other = new Web(() => frame.contentDocument?.querySelector("crossmemory-chat"), signal);
    await until(() => other.online && other.messages().some((m) => m.seq === first.seq), signal);
    return Object.assign(other, { frame });
  });
  const plane = () => tab.frame.contentDocument.getElementById("airplane");
  show("tab");
  await step("off", async () => {
    plane().click();
    await until(() => !tab.online, signal);
    return { proof: tab.part("state").textContent };
  });
  const offline = fill(phrases.offline, made);
  await step("waits", async () => {
    await tab.type(offline);
    const waiting = await until(() => tab.pending().find((bubble) => bubble.textContent.includes(offline)), signal);
    return { proof: waiting.querySelector("footer")?.textContent ?? offline };
  });
  show("web");
  await step("meanwhile", async () => {
    const message = await web.say(fill(phrases.meanwhile, made));
    await web.answer(message);
    return { proof: message.text };
  });
  show("tab");
  await step("on", async () => {
    plane().click();
    const sent = await until(() => tab.messages().find((m) => m.role === "user" && m.text === offline), signal, 60);
    await tab.answer(sent);
    return { proof: tab.part("state").textContent };
  });
  await step("same", async () => {
    const order = (hands) => hands.messages().filter((m) => m.seq >= first.seq).map((m) => `${m.seq} ${m.role} ${m.status} ${m.text}`);
    const settled = () => !web.busy() && !tab.busy() && order(web).length === order(tab).length;
    await until(settled, signal, 30);
    const [mine, theirs] = [order(web), order(tab)];
    if (mine.join("\n") !== theirs.join("\n")) throw new Broken(say("order"));
    const times = mine.filter((line) => line.includes(offline) && line.includes(" user ")).length;
    if (times !== 1) throw new Broken(say("replies", { count: times }));
    for (const hands of [web, tab]) hands.part("newest").click();
    return { proof: say("messages", { count: mine.length }) };
  });
}

async function approval({ step, web, phrases, show }) {
  await web.ready();
  show("web");
  const asked = await step("ask", async () => {
    const message = await web.say(phrases.wish);
    return { ...message, proof: message.text };
  });
  const cards = () => [...web.chat.querySelectorAll('[data-cm="approval"]')];
  const card = await step("card", async () => {
    const found = await until(() => cards().find((each) => each.dataset.state === "open"), web.signal);
    found.scrollIntoView({ block: "center" });
    return { id: found.dataset.id, proof: found.querySelector("h3").textContent };
  });
  await step("approve", async () => {
    const shown = () => cards().find((each) => each.dataset.id === card.id);
    shown().querySelector('[data-cm="approve"]').click();
    const decided = await until(() => shown()?.dataset.state === "approved" && shown(), web.signal);
    return { proof: decided.querySelector('[data-cm="decided"]').textContent };
  });
  await step("done", async () => {
    const rung = () => web.messages().find((m) => m.role === "assistant" && m.seq > asked.seq && m.text.includes(phrases.sound));
    const answer = await until(() => rung()?.status === "complete" && rung(), web.signal, 60);
    return { proof: answer.text };
  });
}

async function steer({ step, web, phrases, show }) {
  const made = code();
  await web.ready();
  show("web");
  const asked = await step("ask", async () => {
    const message = await web.say(phrases.wish);
    return { ...message, proof: message.text };
  });
  await step("writes", () => until(() => web.messages().some((m) => m.seq > asked.seq && m.status === "writing"), web.signal));
  await step("say", async () => {
    const message = await web.say(fill(phrases.steer, { code: made }));
    return { proof: message.text };
  });
  const answer = await step("heard", async () => {
    const found = await web.answer(asked);
    return { ...found, proof: holds(found.text, made) };
  });
  await step("once", async () => {
    await until(() => !web.busy(), web.signal, 30);
    const others = web.messages().filter((m) => m.role === "assistant" && m.seq > answer.seq);
    if (others.length > 0) throw new Broken(say("replies", { count: others.length + 1 }));
    return { proof: say("reply") };
  });
}

export const SCENES = { tell, saw, private: hidden, correction, kill, five, airplane, approval, steer };

/** Play one scene. `tools` says what is on the page; see page.js. */
export async function perform(name, tools) {
  const { play, signal } = tools;
  const web = new Web(() => document.querySelector("main.stage crossmemory-chat"), signal);
  const phone = new Phone(play, signal);
  await SCENES[name]({ ...tools, web, phone, phrases: play.phrases[name] });
  await pause(50, signal);
}
