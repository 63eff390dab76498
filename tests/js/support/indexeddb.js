/** As much of IndexedDB as the store uses. `faults` makes single calls fail. */
export class FakeIndexedDB {
  constructor(faults = {}) {
    this.faults = faults;
    this.tables = new Map();
  }
  open(_name, version) {
    if (this.faults.open === "throws") throw new DOMException("private mode", "SecurityError");
    const request = { result: this.#database(), error: null };
    setImmediate(() => {
      if (this.faults.open === "silent") return;
      if (this.faults.open === "version") return request.onerror?.({ preventDefault() {} });
      if (this.tables.size === 0) request.onupgradeneeded?.({ oldVersion: 0, newVersion: version });
      request.onsuccess?.({});
    });
    return request;
  }
  #database() {
    const { tables } = this;
    return (this.db ??= {
      objectStoreNames: { contains: (name) => tables.has(name) },
      createObjectStore: (name) => tables.set(name, new Map()),
      close: () => (this.closed = true),
      transaction: (name) => {
        if (this.closed) throw new DOMException("closed", "InvalidStateError");
        const rows = tables.get(name);
        const answer = (act) => {
          const request = {};
          setImmediate(() => {
            try {
              request.result = act();
              request.onsuccess?.({});
            } catch (error) {
              request.error = error;
              request.onerror?.({ preventDefault() {} });
            }
          });
          return request;
        };
        return {
          objectStore: () => ({
            get: (key) => answer(() => rows.get(key)),
            getAll: () => answer(() => [...rows.values()]),
            put: (value, key) =>
              answer(() => {
                if (this.faults.put?.(name, key)) throw new DOMException("full", "QuotaExceededError");
                rows.set(key, structuredClone(value));
                return key;
              }),
            delete: (key) => answer(() => void rows.delete(key)),
            clear: () => answer(() => rows.clear()),
          }),
        };
      },
    });
  }
}
