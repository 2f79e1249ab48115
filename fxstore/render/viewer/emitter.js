// Named events with any number of listeners.

export class Emitter {
  #listeners = new Map();

  /**
   * @param {string} event
   * @param {(detail: any) => void} listener
   * @returns {() => void} takes the listener off again
   */
  on(event, listener) {
    if (!this.#listeners.has(event)) this.#listeners.set(event, new Set());
    this.#listeners.get(event).add(listener);
    return () => this.off(event, listener);
  }

  /** @param {string} event @param {(detail: any) => void} listener */
  off(event, listener) {
    this.#listeners.get(event)?.delete(listener);
  }

  /** @param {string} event @param {any} [detail] */
  emit(event, detail) {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) listener(detail);
  }
}
