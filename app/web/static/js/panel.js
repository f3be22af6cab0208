/** A panel with loading and error states, and the curl command of its request. */

import { Offline, Problem, curl, isAbort } from "./api.js";
import { announce, h } from "./dom.js";
import { Latest } from "./latest.js";

/** @typedef {import("./api.js").Call} Call */
/** @typedef {import("./dom.js").Child} Child */

/**
 * A message for an empty panel.
 * @param {...Child} children
 */
export const note = (...children) => h("div", { class: "note" }, ...children);

/** @param {number} lines */
const skeleton = (lines) =>
  h("div", { class: "skeleton" }, Array.from({ length: lines }, () => h("span")), h("p", { class: "hidden" }, "Loading"));

/** Shows the answer to a request, and keeps the last answer visible while the next one is loading. */
export class Panel {
  /**
   * @param {HTMLElement} root
   * @param {{ delay?: number, lines?: number }} [options]
   */
  constructor(root, { delay = 120, lines = 3 } = {}) {
    this.content = h("div", { class: "content" }, skeleton(lines));
    this.code = h("code");
    this.request = h("details", { class: "request", hidden: true }, h("summary", {}, "Show the request"), h("pre", { tabindex: "0" }, this.code));
    root.append(this.content, this.request);
    this.root = root;
    this.latest = new Latest(delay);
  }

  /**
   * Send a request and show its answer; aborts an earlier request of this panel.
   * @template T
   * @param {(signal: AbortSignal) => Promise<T>} work
   * @param {(answer: T) => void} show
   */
  async load(work, show) {
    this.root.setAttribute("aria-busy", "true");
    try {
      show(await this.latest.run(work));
      this.retry = undefined;
    } catch (error) {
      if (isAbort(error)) return;
      this.fail(error, () => this.load(work, show));
    }
    this.root.removeAttribute("aria-busy");
  }

  /** @param {...Child} children */
  show(...children) {
    this.content.replaceChildren(...children.filter((child) => child instanceof Node));
  }

  /**
   * @param {unknown} error
   * @param {() => void} retry
   */
  fail(error, retry) {
    const temporary = error instanceof Offline || (error instanceof Problem && error.status === 503);
    this.retry = temporary ? retry : undefined;
    const message = error instanceof Error ? error.message : String(error);
    const button = h("button", { type: "button", onclick: retry }, "Try again");
    this.show(h("div", { class: "note bad" }, h("p", {}, message), button));
    announce(message);
  }

  /** Repeat a request that failed because the service was unreachable or not ready. */
  recover() {
    this.retry?.();
  }

  /** @param {...Call} calls */
  showRequest(...calls) {
    this.code.textContent = calls.map(curl).join("\n");
    this.request.hidden = false;
  }
}
