import assert from "node:assert/strict";
import { test } from "node:test";

import { Api, ApiError } from "../../crossmemory/static/crossmemory/api.js";

function make(answers, options = {}) {
  const calls = [];
  const told = [];
  const api = new Api({
    base: "/api/crossmemory/conversations/",
    csrf: "page-token",
    language: "es",
    onSignedOut: () => told.push("signed out"),
    onOtherSignIn: () => told.push("other sign-in"),
    fetch: async (address, init) => {
      calls.push([init.method ?? "GET", address, init]);
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      const [status, body] = answer;
      return { status, ok: status < 300, json: async () => (body === undefined ? JSON.parse("") : body) };
    },
    ...options,
  });
  return { api, calls, told };
}
const settled = () => new Promise(setImmediate);

test("writes carry the page's token and language, reads no token", async () => {
  const { api, calls } = make([[201, { id: "c" }], [200, { results: [], next: null }]]);
  await api.createConversation({ shared: false });
  await api.listConversations();
  assert.equal(calls[0][2].headers["X-CSRFToken"], "page-token");
  assert.equal(calls[0][2].headers["Accept-Language"], "es");
  assert.equal(calls[0][2].body, '{"shared":false}');
  assert.equal(calls[1][2].headers["X-CSRFToken"], undefined);
});

test("every door has its address", async () => {
  const { api, calls } = make(Array.from({ length: 13 }, () => [200, {}]));
  await api.getConversation("c");
  await api.changeConversation("c", { title: "t" });
  await api.listMessages("c", 57);
  await api.listMessages("c", null, 10);
  await api.stopRun("c");
  await api.getContext("c");
  await api.getRun("r");
  await api.createCode("telegram", "both");
  await api.confirmAccount("a");
  await api.changeAccount("a", { sharing: "reads" });
  await api.removeAccount("a", "keep");
  await api.getMemory("c");
  await api.leaveOut("c", { surface: "telegram", left_out: true });
  const root = "/api/crossmemory";
  assert.deepEqual(calls.map(([method, address]) => `${method} ${address}`), [
    `GET ${root}/conversations/c/`,
    `PATCH ${root}/conversations/c/`,
    `GET ${root}/conversations/c/messages/?before=57&limit=50`,
    `GET ${root}/conversations/c/messages/?limit=10`,
    `POST ${root}/conversations/c/stop/`,
    `GET ${root}/context/?conversation=c`,
    `GET ${root}/runs/r/`,
    `POST ${root}/accounts/codes/`,
    `POST ${root}/accounts/a/confirm/`,
    `PATCH ${root}/accounts/a/`,
    `DELETE ${root}/accounts/a/?history=keep`,
    `GET ${root}/conversations/c/memory/`,
    `PATCH ${root}/conversations/c/memory/`,
  ]);
});

test("errors carry the server's code and words", async () => {
  const { api } = make([[409, { code: "conflict", detail: "other words" }], [400, { title: ["Too long."] }], [500], new TypeError("network")]);
  await assert.rejects(api.getRun("r"), { status: 409, code: "conflict", detail: "other words" });
  await assert.rejects(api.getRun("r"), { status: 400, detail: "Too long." });
  await assert.rejects(api.getRun("r"), { status: 500, detail: "" });
  await assert.rejects(api.getRun("r"), (error) => error instanceof ApiError && error.offline);
});

test("nothing comes back from a deletion", async () => {
  const { api } = make([[204]]);
  assert.equal(await api.deleteConversation("c"), null);
});

test("401 means signed out", async () => {
  const { api, told } = make([[401, {}]]);
  await assert.rejects(api.getRun("r"));
  assert.deepEqual(told, ["signed out"]);
});

test("403 without a reason is looked into: signed out, or only not allowed", async () => {
  for (const [second, expected] of [[403, ["signed out"]], [200, []]]) {
    const { api, told } = make([[403, { detail: "no" }], [second, {}]]);
    await assert.rejects(api.getRun("r"));
    await settled();
    assert.deepEqual(told, expected);
  }
});

test("a refused token means another sign-in", async () => {
  for (const body of [{ detail: "CSRF Failed: CSRF token incorrect." }, { code: "csrf", detail: "no" }]) {
    const { api, told } = make([[403, body]]);
    await assert.rejects(api.stopRun("c"));
    await settled();
    assert.deepEqual(told, ["other sign-in"]);
  }
});

test("403 with a reason is an answer like others", async () => {
  const { api, told } = make([[403, { code: "read_only_here", detail: "no" }]]);
  await assert.rejects(api.stopRun("c"), { code: "read_only_here" });
  await settled();
  assert.deepEqual(told, []);
});
