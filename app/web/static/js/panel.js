/** A panel: waiting, empty, failed or filled, and the request behind it. */

import { Offline, Problem, curl, isAbort } from "./api.js";
import { announce, h } from "./dom.js";
import { Latest } from "./latest.js";

/** @typedef {import("./api.js").Call} Call */
/** @typedef {import("./dom.js").Child} Child */

/**
 * A message where there is nothing to show.
 * @param {...Child} children
 */
export const note = (...children) => h("div", { class: "note" }, ...children);

/** @param {number} lines */
const skeleton = (lines) =>
  h("div", { class: "skeleton" }, Array.from({ length: lines }, () => h("span")), h("p", { class: "hidden" }, "Loading"));

/** Shows what comes of a request and keeps the last good answer while the next one is on its way. */
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
   * Ask, then show; an older question of this panel is called off.
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
    const passing = error instanceof Offline || (error instanceof Problem && error.status === 503);
    this.retry = passing ? retry : undefined;
    const message = error instanceof Error ? error.message : String(error);
    const button = h("button", { type: "button", onclick: retry }, "Try again");
    this.show(h("div", { class: "note bad" }, h("p", {}, message), button));
    announce(message);
  }

  /** Ask again what failed because the service was away or not ready. */
  recover() {
    this.retry?.();
  }

  /** @param {...Call} calls */
  showRequest(...calls) {
    this.code.textContent = calls.map(curl).join("\n");
    this.request.hidden = false;
  }
}
