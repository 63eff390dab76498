/**
 * Connecting an outside account: what crosses over, the code, "link this account?", and taking it apart.
 *
 * @import {Api} from "./api.js"
 * @import {Account, LinkCode, Sharing} from "./types.js"
 * @import {Texts} from "./texts.js"
 */

import { ApiError } from "./api.js";
import { ask, check, openDialog, radio } from "./dialogs.js";
import { h } from "./dom.js";
import { isolate } from "./texts.js";

/** Milliseconds between looks at whether the code was used. */
const POLL = 2_000;

const SHARINGS = /** @type {const} */ (["both", "reads", "separate"]);

/**
 * @typedef {object} AccountsOptions
 * @property {HTMLElement} host
 * @property {Texts} texts
 * @property {Api} api
 * @property {() => void} onChange  accounts or conversations changed on the server
 */

export class AccountsDialog {
  /** @type {ReturnType<typeof setInterval> | undefined} */ #ticking;
  /** @type {HTMLElement} */ #body = h("div");
  /** @type {LinkCode | null} */ #code = null;
  #step = "";

  /**
   * @param {AccountsOptions} options
   * @param {string} surface  alias
   * @param {string} label
   */
  constructor(options, surface, label) {
    this.options = options;
    this.texts = options.texts;
    this.api = options.api;
    this.surface = surface;
    this.label = label;
  }

  async open() {
    const title = this.texts.t("account_title", { label: this.label });
    const { body, closed } = openDialog(this.options.host, title, this.texts, "accounts");
    this.#body = body;
    this.#show("loading", h("p", { class: "cm-soft" }, this.texts.t("loading")));
    await this.#look();
    const timer = setInterval(() => {
      if (this.#step === "code" && document.visibilityState === "visible") void this.#look();
    }, POLL);
    await closed;
    clearInterval(timer);
    clearInterval(this.#ticking);
    this.options.onChange();
  }

  /** Ask the server where things stand, and show that step. */
  async #look() {
    let accounts;
    try {
      ({ accounts } = await this.api.listAccounts());
    } catch (error) {
      if (this.#step === "loading") this.#problem(error);
      return;
    }
    const mine = accounts.filter((account) => account.surface === this.surface);
    const asking = mine.find((account) => account.status === "pending");
    const active = mine.find((account) => account.status === "active");
    if (asking) this.#confirm(asking);
    else if (active && this.#step !== "code") this.#manage(active);
    else if (active && this.#code) this.#manage(active, true);
    else if (this.#step !== "code") this.#choose();
  }

  #choose() {
    const { texts, label } = this;
    const form = h(
      "form",
      { "data-cm": "connect-form" },
      h("p", {}, texts.t("connect_intro", { label })),
      this.#sharing("both"),
      h("p", { class: "cm-soft", "data-cm": "who-reads" }, texts.t("who_reads")),
      h("div", { class: "cm-actions" }, h("button", { type: "submit", class: "cm-strong", "data-cm": "get-code" }, texts.t("get_code"))),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const sharing = /** @type {Sharing} */ (new FormData(form).get("sharing"));
      void this.#try(async () => this.#showCode(await this.api.createCode(this.surface, sharing)));
    });
    this.#show("choose", form);
  }

  /** @param {LinkCode} code */
  #showCode(code) {
    const { texts, label } = this;
    this.#code = code;
    const typed = `/start ${code.code}`;
    const left = h("p", { class: "cm-soft", "data-cm": "code-expiry" });
    const copied = h("span", { class: "cm-soft", role: "status" });
    const copy = h("button", { type: "button", class: "cm-quiet", "data-cm": "copy-code" }, texts.t("copy"));
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(typed);
        copied.textContent = texts.t("copied");
      } catch {
        copied.textContent = texts.t("copy_failed");
      }
    });
    const tick = () => {
      const seconds = Math.max(0, Math.round((Date.parse(code.expires_at) - Date.now()) / 1000));
      const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
      left.textContent = seconds > 0 ? texts.t("code_expires", { time: clock }) : texts.t("code_expired");
      if (seconds > 0) return;
      clearInterval(this.#ticking);
      left.append(" ", h("button", { type: "button", class: "cm-quiet", onclick: () => this.#choose() }, texts.t("get_code")));
    };
    this.#show(
      "code",
      ...(code.url ? this.#deepLink(code.url) : []),
      h("p", {}, texts.t("code_or_type")),
      h("p", { class: "cm-code-line" }, h("code", { dir: "ltr", "data-cm": "code" }, typed), copy, copied),
      left,
      h("p", { class: "cm-thinking", role: "status" }, h("span", { class: "cm-dots", "aria-hidden": "true" }), texts.t("waiting_for_code")),
    );
    tick();
    this.#ticking = setInterval(tick, 1_000);
  }

  /** @param {string} url */
  #deepLink(url) {
    const { texts, label } = this;
    const link = { class: "cm-strong", href: webAddress(url), target: "_blank", rel: "noopener", "data-cm": "deep-link" };
    return [h("p", {}, texts.t("code_intro", { label })), h("p", {}, h("a", link, texts.t("open_surface", { label })))];
  }

  /** @param {Account} account */
  #confirm(account) {
    if (this.#step === `confirm-${account.id}`) return;
    const { texts, label } = this;
    const yes = () => this.#try(async () => {
      await this.api.confirmAccount(account.id);
      this.#manage({ ...account, status: "active" }, true);
    });
    const no = () => this.#try(async () => {
      await this.api.removeAccount(account.id, "remove");
      this.#code = null;
      this.#choose();
    });
    this.#show(
      `confirm-${account.id}`,
      h("p", { class: "cm-question" }, texts.t("link_this", { name: isolate(account.name), label })),
      h("p", { class: "cm-soft" }, texts.t("link_this_hint")),
      h("p", { class: "cm-soft" }, texts.t(`sharing_${account.sharing}_text`, { label })),
      h(
        "div",
        { class: "cm-actions" },
        h("button", { type: "button", class: "cm-strong", "data-cm": "confirm-account", onclick: yes }, texts.t("link_yes")),
        h("button", { type: "button", class: "cm-quiet", "data-cm": "refuse-account", onclick: no }, texts.t("link_no")),
      ),
    );
  }

  /**
   * @param {Account} account
   * @param {boolean} [fresh]
   */
  #manage(account, fresh = false) {
    const { texts, label } = this;
    this.#code = null;
    const saved = h("p", { class: "cm-soft", role: "status", "data-cm": "sharing-saved" });
    const form = h("form", {}, this.#sharing(account.sharing), ...this.#approvals(account));
    form.addEventListener("change", () => {
      const chosen = new FormData(form);
      const sharing = /** @type {Sharing} */ (chosen.get("sharing"));
      void this.#try(async () => {
        await this.api.changeAccount(account.id, { sharing, approvals: chosen.has("approvals") });
        saved.textContent = texts.t("changed");
      });
    });
    this.#show(
      "manage",
      h("p", { "data-cm": "connected" }, texts.t(fresh ? "now_connected" : "connected_as", { name: isolate(account.name), label })),
      form,
      saved,
      h("p", { class: "cm-soft" }, texts.t("who_reads")),
      h("div", { class: "cm-actions" }, h("button", { type: "button", class: "cm-quiet cm-bad", "data-cm": "unlink", onclick: () => this.#unlink(account) }, texts.t("unlink"))),
    );
  }

  /** @param {Account} account */
  async #unlink(account) {
    const { texts, label } = this;
    const history = await ask(this.options.host, texts, {
      title: texts.t("unlink_title", { label }),
      text: texts.t("unlink_text", { label }),
      confirm: texts.t("unlink"),
      danger: true,
      choices: [
        { value: "keep", label: texts.t("unlink_keep") },
        { value: "remove", label: texts.t("unlink_remove", { label }) },
      ],
    });
    if (history !== "keep" && history !== "remove") return;
    await this.#try(async () => {
      await this.api.removeAccount(account.id, history);
      this.#choose();
    });
  }

  /**
   * Whether the assistant may be given permission there: only where there are buttons for it.
   *
   * @param {Account} account
   */
  #approvals(account) {
    if (!account.has_buttons) return [];
    const { texts, label } = this;
    return [check("approvals", texts.t("approvals_there", { label }), texts.t("approvals_there_text", { label }), account.approvals)];
  }

  /** @param {Sharing} chosen */
  #sharing(chosen) {
    const { texts, label } = this;
    return h(
      "fieldset",
      { class: "cm-choices" },
      h("legend", {}, texts.t("sharing")),
      SHARINGS.map((value) => radio("sharing", value, texts.t(`sharing_${value}`), texts.t(`sharing_${value}_text`, { label }), value === chosen)),
    );
  }

  /**
   * @param {string} step
   * @param {...Node} children
   */
  #show(step, ...children) {
    clearInterval(this.#ticking);
    this.#step = step;
    this.#body.dataset["step"] = step.replace(/-.*/, "");
    this.#body.replaceChildren(...children);
  }

  /** @param {() => Promise<void>} act */
  async #try(act) {
    try {
      await act();
      this.options.onChange();
    } catch (error) {
      this.#problem(error);
    }
  }

  /** @param {unknown} error */
  #problem(error) {
    const detail = error instanceof ApiError ? error.detail : "";
    this.#body.querySelector("[data-cm=problem]")?.remove();
    this.#body.prepend(h("p", { class: "cm-note", role: "alert", "data-cm": "problem" }, detail || this.texts.t("did_not_work")));
  }
}

/**
 * @param {string} url  from the server; anything but a web or Telegram address leads nowhere
 * @returns {string}
 */
export function webAddress(url) {
  return /^(?:https?:|tg:|\/)/i.test(url) ? url : "#";
}
