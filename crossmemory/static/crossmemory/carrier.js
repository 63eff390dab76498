/**
 * What carries the frames: a WebSocket, or plain HTTP where a network lets no WebSocket through.
 */

/**
 * @typedef {Pick<WebSocket, "readyState" | "send" | "close"> & {
 *   onopen: any, onmessage: any, onclose: any, onerror: any}} Carried  as much of a WebSocket as is used here
 */

/** Milliseconds until a WebSocket is tried again: soon where one has worked, for then it was the server that was away. */
const AGAIN = { worked: 5_000, never: 300_000 };

export class Carrier {
  #failed = false;
  #worked = false;

  /** True while plain HTTP is in use. */
  streaming = false;

  /**
   * @param {(query: string) => Carried} socket
   * @param {((query: string) => Carried) | undefined} stream
   */
  constructor(socket, stream) {
    this.socket = socket;
    this.stream = stream;
  }

  /**
   * Begin; after an attempt that brought nothing, in the other way.
   * @param {string} query
   * @returns {Carried}
   */
  open(query) {
    this.streaming = this.#failed && !this.streaming && this.stream !== undefined;
    this.#failed = true;
    return this.streaming && this.stream ? this.stream(query) : this.socket(query);
  }

  /** Something has come through: to open is not enough where a proxy says yes to everything. */
  works() {
    this.#failed = false;
    if (!this.streaming) this.#worked = true;
  }

  /** Milliseconds after which to look whether a WebSocket would do. */
  get lookAfter() {
    return this.#worked ? AGAIN.worked : AGAIN.never;
  }

  /**
   * @param {string} query
   * @param {() => void} onYes  a WebSocket opens here
   */
  look(query, onYes) {
    const probe = this.socket(query);
    probe.onopen = () => {
      probe.close();
      onYes();
    };
  }
}
