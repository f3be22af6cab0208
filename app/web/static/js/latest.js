/** Of many requests in a row only the latest counts. */

/** Waits a moment, then runs; whatever ran or waited before is called off. */
export class Latest {
  /** @param {number} delay milliseconds to wait for a newer one */
  constructor(delay) {
    this.delay = delay;
    this.controller = new AbortController();
  }

  /**
   * @template T
   * @param {(signal: AbortSignal) => Promise<T>} work
   * @param {number} [delay]
   * @returns {Promise<T>} never settles if a newer one takes over while it waits
   */
  run(work, delay = this.delay) {
    this.controller.abort();
    clearTimeout(this.timer);
    this.controller = new AbortController();
    const { signal } = this.controller;
    return new Promise((resolve, reject) => {
      this.timer = setTimeout(() => work(signal).then(resolve, reject), delay);
    });
  }
}
