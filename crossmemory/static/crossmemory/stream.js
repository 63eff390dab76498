/**
 * A WebSocket made of plain HTTP, for networks that let no other through: frames come as Server-Sent Events, and what
 * is sent goes out over REST, one after the other.
 *
 * @import {Api} from "./api.js"
 */

import { ApiError } from "./api.js";

/** The codes a socket would be closed with. */
const ENDED = 1006;
const NOT_SIGNED_IN = 4501;
const GONE = 4504;

const CONNECTING = 0;
const OPEN = 1;
const CLOSED = 3;

export class StreamSocket {
  /** @type {(() => void) | null} */ onopen = null;
  /** @type {((message: {data: string}) => void) | null} */ onmessage = null;
  /** @type {((close: {code: number, reason: string}) => void) | null} */ onclose = null;
  /** @type {(() => void) | null} */ onerror = null;
  readyState = CONNECTING;
  #leave = new AbortController();
  /** @type {Promise<void>} what was sent goes out in turn */ #line = Promise.resolve();

  /**
   * @param {Api} api
   * @param {string} conversation
   * @param {string} query  `?cursor=…`, or nothing
   */
  constructor(api, conversation, query) {
    this.api = api;
    this.conversation = conversation;
    void this.#follow(query);
  }

  /** @param {string} text  a frame */
  send(text) {
    const frame = JSON.parse(text);
    this.#line = this.#line.then(() => this.#carryOut(frame));
  }

  close() {
    this.readyState = CLOSED;
    this.#leave.abort();
  }

  /** @param {string} query */
  async #follow(query) {
    let code = ENDED;
    try {
      const response = await this.api.openStream(this.conversation, query, this.#leave.signal);
      this.readyState = OPEN;
      this.onopen?.();
      await this.#read(/** @type {ReadableStream<Uint8Array>} */ (response.body));
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) code = NOT_SIGNED_IN;
      if (error instanceof ApiError && error.status === 404) code = GONE;
    }
    if (this.readyState === CLOSED) return;
    this.close();
    this.onclose?.({ code, reason: "" });
  }

  /** @param {ReadableStream<Uint8Array>} body */
  async #read(body) {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
      // A frame is one line of data. Nothing is searched twice, however many pieces a line comes in.
      const pieces = decoder.decode(value, { stream: true }).split("\n");
      for (const piece of pieces.slice(0, -1)) {
        this.#hand(rest + piece);
        rest = "";
      }
      rest += pieces.at(-1);
    }
  }

  /** @param {string} line */
  #hand(line) {
    if (line.startsWith("data: ") && this.readyState === OPEN) this.onmessage?.({ data: line.slice(6) });
  }

  /** @param {Record<string, any>} frame */
  async #carryOut(frame) {
    if (this.readyState !== OPEN) return;
    const { api, conversation } = this;
    try {
      switch (frame["type"]) {
        case "message.send": {
          const { seq, duplicate, budget } = await api.sendMessage(conversation, frame);
          return this.#answer({ type: "ack", client_id: frame["client_id"], seq, duplicate, ...(budget ? { budget } : {}) });
        }
        case "approval.decide": {
          const { decision, args_hash } = frame;
          await api.decide(conversation, frame["tool_call"], { decision, args_hash });
          return this.#answer({ type: "ack", tool_call: frame["tool_call"], decision });
        }
        case "run.stop":
          return void (await api.stopRun(conversation));
        case "read":
          return void (await api.markRead(conversation, frame["seq"]));
        case "ping": // whether the server still answers
          await api.getConversation(conversation);
          return this.#answer({ type: "pong" });
        case "partial.get": // nothing is lost on this way; what is lacking all the same comes with a new beginning
          this.close();
          return this.onclose?.({ code: ENDED, reason: "" });
      }
    } catch (error) {
      if (error instanceof ApiError) this.#refused(frame, error);
    }
  }

  /**
   * @param {Record<string, any>} frame
   * @param {ApiError} error
   */
  #refused({ client_id, tool_call }, { status, code, detail, body }) {
    if (client_id === undefined && tool_call === undefined) return;
    const retryable = status === 0 || status === 429 || status >= 500;
    this.#answer({ ...body, type: "nack", client_id, tool_call, code: code || "unavailable", detail, retryable });
  }

  /** @param {Record<string, unknown>} frame */
  #answer(frame) {
    if (this.readyState === OPEN) this.onmessage?.({ data: JSON.stringify(frame) });
  }
}
