/** Debounced requests: a new one cancels the one before. */

/** Runs work after a delay, and aborts the work started before it. */
export class Latest {
  /** @param {number} delay milliseconds */
  constructor(delay) {
    this.delay = delay;
    this.controller = new AbortController();
  }

  /**
   * @template T
   * @param {(signal: AbortSignal) => Promise<T>} work
   * @param {number} [delay]
   * @returns {Promise<T>} never settles if newer work replaces this one during the delay
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
