/**
 * The REST doors of crossmemory, as one small object.
 *
 * Writing uses the CSRF token that was given to *this page*: it stops working when somebody else signs in,
 * so nothing is ever sent under another sign-in.
 *
 * @import {Account, Context, Conversation, FeedMessage, Found, LeaveOut, LinkCode, LogEvent, Memory, Sharing, Surface} from "./types.js"
 */

import { ApiError, asObject, firstText } from "./refusal.js";
import { post } from "./upload.js";

export { ApiError } from "./refusal.js";

/**
 * @typedef {object} ApiOptions
 * @property {string} base  address of the conversation list, ending in `conversations/`
 * @property {string} [csrf]
 * @property {string} [language]
 * @property {() => void} [onSignedOut]  the server no longer knows this person
 * @property {() => void} [onOtherSignIn]  the page's token is from an earlier sign-in
 * @property {typeof globalThis.fetch} [fetch]
 */

export class Api {
  /** @param {ApiOptions} options */
  constructor(options) {
    this.options = options;
    this.conversations = options.base;
    this.root = options.base.replace(/conversations\/$/, "");
  }

  /**
   * @param {string | null} [next]  address of a further page
   * @returns {Promise<{results: Conversation[], next: string | null}>}
   */
  listConversations(next) {
    return this.request("GET", next ?? this.conversations);
  }

  /**
   * @param {string} id
   * @returns {Promise<Conversation>}
   */
  getConversation(id) {
    return this.request("GET", `${this.conversations}${id}/`);
  }

  /**
   * @param {{title?: string, shared?: boolean, agent?: string}} body
   * @returns {Promise<Conversation>}
   */
  createConversation(body) {
    return this.request("POST", this.conversations, body);
  }

  /**
   * @param {string} id
   * @param {{title?: string, shared?: boolean, reads?: boolean}} body
   * @returns {Promise<Conversation>}
   */
  changeConversation(id, body) {
    return this.request("PATCH", `${this.conversations}${id}/`, body);
  }

  /** @param {string} id */
  deleteConversation(id) {
    return this.request("DELETE", `${this.conversations}${id}/`);
  }

  /**
   * @param {string} id
   * @param {number | null} before  seq
   * @param {number} [limit]
   * @returns {Promise<{messages: FeedMessage[], before: number | null}>}
   */
  listMessages(id, before, limit = 50) {
    const from = before === null ? "" : `before=${before}&`;
    return this.request("GET", `${this.conversations}${id}/messages/?${from}limit=${limit}`);
  }

  /**
   * @param {string} attachment  id
   * @returns {string} where the file is
   */
  fileAddress(attachment) {
    return `${this.root}attachments/${encodeURIComponent(attachment)}/`;
  }

  /**
   * Bring a file to the server; a message that names it takes it along.
   * @param {string} id
   * @param {Blob} file
   * @param {string} name
   * @param {(share: number) => void} onProgress  0 to 1
   * @returns {Promise<{attachment: string}>}
   * @throws {ApiError}
   */
  async upload(id, file, name, onProgress) {
    const { status, answer } = await post(`${this.conversations}${id}/attachments/`, this.#headers("POST"), file, name, onProgress);
    if (status >= 200 && status < 300) return answer;
    throw this.#refusal(status, answer);
  }

  /**
   * @param {string} id
   * @param {string} message
   */
  deleteMessage(id, message) {
    return this.request("DELETE", `${this.conversations}${id}/messages/${encodeURIComponent(message)}/`);
  }

  /**
   * @param {string} id
   * @param {string} message  one of this person's own
   * @param {string} text
   */
  editMessage(id, message, text) {
    return this.request("PATCH", `${this.conversations}${id}/messages/${encodeURIComponent(message)}/`, { text });
  }

  /**
   * Ask for another answer to what was said last.
   * @param {string} id
   * @returns {Promise<{queued: boolean}>}
   */
  answerAgain(id) {
    return this.request("POST", `${this.conversations}${id}/again/`, {});
  }

  /**
   * @param {string} id
   * @param {string} toolCall
   * @param {{decision: "approved" | "denied", args_hash: string}} body
   * @returns {Promise<{tool_call: string, decision: string}>}
   */
  decide(id, toolCall, body) {
    return this.request("POST", `${this.conversations}${id}/approvals/${encodeURIComponent(toolCall)}/`, body);
  }

  /**
   * @param {string} id
   * @param {Record<string, unknown>} message  client_id, text, parts
   * @returns {Promise<{seq: number, duplicate: boolean, budget?: import("./types.js").Budget}>}
   */
  sendMessage(id, { client_id, text, parts }) {
    return this.request("POST", `${this.conversations}${id}/messages/`, { client_id, text, ...(parts ? { parts } : {}) });
  }

  /**
   * @param {string} id
   * @param {number} seq  this person has read up to here
   */
  markRead(id, seq) {
    return this.request("POST", `${this.conversations}${id}/read/`, { seq });
  }

  /**
   * The log as Server-Sent Events.
   * @param {string} id
   * @param {string} query  `?cursor=…`, or nothing
   * @param {AbortSignal} signal
   * @returns {Promise<Response>}
   * @throws {ApiError}
   */
  openStream(id, query, signal) {
    return this.#call("GET", `${this.conversations}${id}/events/stream/${query}`, { headers: { ...this.#headers("GET"), Accept: "text/event-stream" }, signal });
  }

  /**
   * What was said that fits some words, best first.
   * @param {string} words
   * @param {AbortSignal} signal
   * @returns {Promise<{results: Found[], next: string | null}>}
   */
  search(words, signal) {
    return this.request("GET", `${this.root}search/?q=${encodeURIComponent(words)}`, undefined, { signal });
  }

  /** @param {string} id */
  stopRun(id) {
    return this.request("POST", `${this.conversations}${id}/stop/`, {});
  }

  /**
   * @param {string} conversation
   * @returns {Promise<Context>}
   */
  getContext(conversation) {
    return this.request("GET", `${this.root}context/?conversation=${encodeURIComponent(conversation)}`);
  }

  /**
   * What is in play in a conversation from others, and what is left out of it there.
   * @param {string} conversation
   * @returns {Promise<Memory>}
   */
  getMemory(conversation) {
    return this.request("GET", `${this.conversations}${conversation}/memory/`);
  }

  /**
   * @param {string} conversation
   * @param {LeaveOut} change
   * @returns {Promise<Memory>} as it is then
   */
  leaveOut(conversation, change) {
    return this.request("PATCH", `${this.conversations}${conversation}/memory/`, change);
  }

  /**
   * @param {string} run
   * @returns {Promise<Context>}
   */
  getRun(run) {
    return this.request("GET", `${this.root}runs/${encodeURIComponent(run)}/`);
  }

  /**
   * @param {string} ref  address of an event that was too large for a frame
   * @returns {Promise<LogEvent>}
   */
  async getEvent(ref) {
    const body = await this.request("GET", ref);
    return body.event ?? body;
  }

  /** @returns {Promise<{accounts: Account[], surfaces: Surface[]}>} */
  listAccounts() {
    return this.request("GET", `${this.root}accounts/`);
  }

  /**
   * @param {string} surface
   * @param {Sharing} sharing
   * @returns {Promise<LinkCode>}
   */
  createCode(surface, sharing) {
    return this.request("POST", `${this.root}accounts/codes/`, { surface, sharing });
  }

  /** @param {string} id */
  confirmAccount(id) {
    return this.request("POST", `${this.root}accounts/${id}/confirm/`, {});
  }

  /**
   * @param {string} id
   * @param {{sharing?: Sharing, approvals?: boolean}} change
   */
  changeAccount(id, change) {
    return this.request("PATCH", `${this.root}accounts/${id}/`, change);
  }

  /**
   * @param {string} id
   * @param {"keep" | "remove"} history
   */
  removeAccount(id, history) {
    return this.request("DELETE", `${this.root}accounts/${id}/?history=${history}`);
  }

  /**
   * A refusal without a reason: signed out, signed in as somebody else, or only not allowed?
   * @param {ApiError} error
   */
  async #doubt(error) {
    const fetch = this.options.fetch ?? globalThis.fetch.bind(globalThis);
    if (error.status === 401) return this.options.onSignedOut?.();
    if (error.code === "csrf" || error.detail.startsWith("CSRF")) return this.options.onOtherSignIn?.();
    const check = await fetch(this.conversations, { credentials: "same-origin" }).catch(() => null);
    return check && (check.status === 401 || check.status === 403) ? this.options.onSignedOut?.() : undefined;
  }

  /**
   * @param {string} method
   * @param {string} address
   * @param {Record<string, unknown>} [body]
   * @param {{signal?: AbortSignal}} [more]
   * @returns {Promise<any>}
   * @throws {ApiError}
   */
  async request(method, address, body, more = {}) {
    const headers = this.#headers(method);
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const response = await this.#call(method, address, { headers, ...more, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    return response.status === 204 ? null : response.json().catch(() => null);
  }

  /**
   * @param {string} method
   * @param {string} address
   * @param {RequestInit} options
   * @returns {Promise<Response>} one that is fine
   * @throws {ApiError}
   */
  async #call(method, address, options) {
    const fetch = this.options.fetch ?? globalThis.fetch.bind(globalThis);
    let response;
    try {
      response = await fetch(address, { method, credentials: "same-origin", ...options });
    } catch {
      throw new ApiError(0, "offline", "");
    }
    if (response.ok) return response;
    throw this.#refusal(response.status, await response.json().catch(() => null));
  }

  /**
   * @param {number} status
   * @param {any} answer
   * @returns {ApiError}
   */
  #refusal(status, answer) {
    if (status === 0) return new ApiError(0, "offline", "");
    const error = new ApiError(status, answer?.code ?? "", firstText(answer), asObject(answer));
    // A site's own exception handler may answer 403 without a code to a stranger, as DRF does by default.
    if (error.status === 401 || (error.status === 403 && (error.code === "" || error.code === "csrf"))) void this.#doubt(error);
    return error;
  }

  /**
   * @param {string} method
   * @returns {Record<string, string>}
   */
  #headers(method) {
    /** @type {Record<string, string>} */
    const headers = { Accept: "application/json" };
    if (this.options.language) headers["Accept-Language"] = this.options.language;
    if (method !== "GET") headers["X-CSRFToken"] = this.options.csrf || cookie("csrftoken");
    return headers;
  }
}

/** @param {string} name */
function cookie(name) {
  const found = (globalThis.document?.cookie ?? "").split("; ").find((pair) => pair.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : "";
}
