/** Hands on a web chat and on a phone: they type and tap what a person would, and read what stands there. */

import { ask, Broken, pause, say, until } from "./waiting.js";

/** A `<crossmemory-chat>`, in this page or in a frame. */
export class Web {
  constructor(find, signal) {
    this.find = find;
    this.signal = signal;
  }

  get chat() {
    return this.find();
  }

  part(name) {
    return this.chat?.querySelector(`[data-cm="${name}"]`) ?? null;
  }

  /** The id of the conversation that is open; null for a chat that does not exist yet. */
  get conversation() {
    return this.chat?.chat?.session?.conversation ?? null;
  }

  get online() {
    return this.part("state")?.dataset.state === "online";
  }

  /** What stands in the log, in its order. */
  messages() {
    const found = this.chat?.querySelectorAll('[data-cm="message"]') ?? [];
    return [...found].map((element) => ({
      element,
      id: element.dataset.id,
      seq: Number(element.dataset.seq),
      role: element.dataset.role,
      status: element.dataset.status,
      text: element.querySelector('[data-cm="text"]')?.textContent ?? "",
    }));
  }

  pending() {
    return [...(this.chat?.querySelectorAll('[data-cm="pending"]') ?? [])];
  }

  /** A new chat; `out` keeps it out of memory. */
  async fresh(out = false) {
    this.part("new-chat").click();
    const box = await until(() => this.conversation === null && this.part("keep-out-new"), this.signal);
    if (out) box.click();
    await until(() => (this.part("keep-out-new")?.getAttribute("aria-checked") === "true") === out, this.signal);
  }

  /** Make sure that what is open can be written in, and feeds memory. */
  async ready() {
    await until(() => this.part("input") && (this.conversation === null || this.online), this.signal);
    if (this.part("composer").hidden || this.part("not-remembered")) await this.fresh();
    await until(() => !this.busy(), this.signal, 60);
  }

  busy() {
    return this.pending().length > 0 || !this.part("stop").hidden;
  }

  /** Type and send. */
  async type(text) {
    const box = this.part("input");
    box.value = "";
    for (let end = 0; end < text.length; end += 3) {
      box.value = text.slice(0, end + 3);
      await pause(18, this.signal);
    }
    box.value = text;
    box.dispatchEvent(new Event("input", { bubbles: true }));
    this.part("send").click();
  }

  /** Type, send, and wait until it stands in the log. */
  async say(text) {
    const after = Math.max(0, ...this.messages().map((message) => message.seq));
    await this.type(text);
    return until(() => this.messages().find((m) => m.role === "user" && m.seq > after && m.text === text), this.signal);
  }

  /** The finished answer to a message. */
  answer(said) {
    return until(() => {
      const found = this.messages().find((m) => m.role === "assistant" && m.seq > said.seq && m.status !== "writing");
      if (found && found.status !== "complete") throw new Broken(say("ended"));
      return found;
    }, this.signal, 60);
  }
}

/** The phone of this person, through the sandbox's doors. */
export class Phone {
  constructor(play, signal) {
    this.play = play;
    this.signal = signal;
  }

  /** Say something; `times` has Telegram deliver it repeatedly. Gives the number of the message. */
  async say(text, times = 1) {
    const body = { user_id: this.play.phone, text, times };
    const { message_id } = await ask(this.play.say, { body, signal: this.signal });
    return message_id;
  }

  /** What the bot has sent after a message. */
  async replies(after) {
    const address = `${this.play.outbox}?chat_id=${this.play.phone}&after=${after}`;
    return (await ask(address, { signal: this.signal })).messages;
  }

  /** The first reply after a message. */
  async answer(after, seconds = 60) {
    return until(async () => (await this.replies(after))[0], this.signal, seconds, 300);
  }

  /** Does the phone show that the bot is writing? */
  async writing() {
    const found = await ask(`${this.play.chat}?chat_id=${this.play.phone}&since=${2 ** 40}`, { signal: this.signal });
    return Boolean(found.action || found.draft);
  }
}
