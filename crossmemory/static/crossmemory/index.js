/**
 * What other programs may import: the chat client without its page.
 *
 * ```js
 * import { Api, Session, Store } from "…/crossmemory/index.js";
 * const api = new Api({ base: "/api/crossmemory/conversations/", csrf });
 * const store = await Store.open({ user: "7" });
 * const onSignedOut = () => store.drop(); // nothing that was kept outlives the sign-in
 * const session = new Session({ conversation: id, api, store, url, onSignedOut, onChange: (s) => draw(s.view, s.queue.items) });
 * await session.open();
 * ```
 */

export { Api, ApiError } from "./api.js";
export { Connection, PROTOCOL } from "./connection.js";
export { Queue } from "./queue.js";
export {
  applyBatch,
  applyDelta,
  applyPartial,
  canonical,
  codePoints,
  cursor,
  fold,
  initial,
  mergeFeed,
  reduce,
} from "./reducer.js";
export { Session } from "./session.js";
export { Store } from "./store.js";
export { StreamSocket } from "./stream.js";
