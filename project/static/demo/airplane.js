/** Airplane mode for one tab: its sockets are cut and no new one is let through, as a network that is gone does. */
(() => {
  const { WebSocket: Socket, fetch: get } = window;
  const open = new Set();
  let off = false;

  window.WebSocket = class extends Socket {
    constructor(...values) {
      if (off) throw new DOMException("airplane mode", "NetworkError");
      super(...values);
      open.add(this);
      this.addEventListener("close", () => open.delete(this));
    }
  };
  window.fetch = (...values) => (off ? Promise.reject(new TypeError("airplane mode")) : get(...values));

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("airplane");
    button.addEventListener("click", () => {
      off = !off;
      button.setAttribute("aria-checked", String(off));
      if (off) for (const socket of open) socket.close();
      window.dispatchEvent(new Event(off ? "offline" : "online"));
    });
  });
})();
