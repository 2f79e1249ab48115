// Events for a host: each carries its name and time, and a listener that fails disturbs neither the viewer nor the others.

export class HostEvents {
  #byName = new Map();

  /** @param {string} event @param {(detail: any) => void} listener @returns {() => void} takes it off again */
  on(event, listener) {
    if (typeof listener !== "function") throw new TypeError(`the listener of ${event} is no function`);
    if (!this.#byName.has(event)) this.#byName.set(event, new Set());
    this.#byName.get(event).add(listener);
    return () => this.off(event, listener);
  }

  /** @param {string} event @param {(detail: any) => void} listener */
  off(event, listener) {
    this.#byName.get(event)?.delete(listener);
  }

  /** @param {string} event @param {Record<string, any>} detail */
  tell(event, detail) {
    for (const listener of [...(this.#byName.get(event) ?? [])]) {
      try {
        listener({ type: event, timestamp: Date.now(), ...detail });
      } catch (error) {
        globalThis.reportError?.(error);
      }
    }
  }

  silence() {
    this.#byName.clear();
  }
}
