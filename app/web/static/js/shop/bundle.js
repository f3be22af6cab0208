/** The bundle builder: a set of items that belong together and to the cart. */

import { ask } from "../api.js";
import { announce, byId, h } from "../dom.js";
import { nameOf, plural, price } from "../format.js";
import { Panel, note } from "../panel.js";

/** Chooses k items at once; each new try draws other candidates. */
export class BundlePanel {
  /**
   * @param {import("./state.js").Shop} shop
   * @param {(items: any[]) => void} add
   */
  constructor(shop, add) {
    this.shop = shop;
    this.add = add;
    this.tries = 0;
    this.size = /** @type {HTMLInputElement} */ (h("input", { id: "bundle-k", type: "range", min: 2, max: 8, value: 4 }));
    const output = h("output", { for: "bundle-k", class: "number" }, "4");
    this.size.addEventListener("input", () => {
      output.textContent = this.size.value;
      this.refresh();
    });
    byId("bundle").append(h("div", { class: "bundle-size" }, h("label", { for: "bundle-k" }, "Items"), this.size, output));
    this.panel = new Panel(byId("bundle"), { lines: 4 });
  }

  recover() {
    this.panel.recover();
  }

  refresh() {
    // The first is the best that greedy steps find; later ones look among random candidates.
    const way = this.tries ? { method: "stochastic", seed: this.tries } : {};
    const call = { path: "/bundles", query: { ...this.shop.basket, k: this.size.value, ...way, ...this.shop.dials } };
    this.panel.showRequest(call);
    this.panel.load((signal) => ask({ ...call, signal }), (answer) => this.show(answer));
  }

  /** @param {any} answer */
  show(answer) {
    const [bundle] = answer.bundles;
    if (!bundle?.items.length) {
      this.panel.show(note(answer.fallback?.message ?? "There is no bundle to be made."));
      return;
    }
    const again = h("button", { type: "button", id: "bundle-again" }, "Another one");
    again.addEventListener("click", () => {
      this.tries += 1;
      this.refresh();
    });
    const hadFocus = document.activeElement?.id === again.id;
    this.panel.show(
      h("ul", { class: "bundle" }, bundle.items.map((/** @type {any} */ item) => h("li", {}, nameOf(item), h("span", { class: "soft number" }, price(item.price))))),
      h("p", { class: "total number" }, h("span", {}, "Together"), h("span", { id: "bundle-total" }, price(bundle.total_price))),
      answer.fallback && h("p", { class: "soft small" }, answer.fallback.message),
      h("div", { class: "row" }, h("button", { type: "button", class: "primary", onclick: () => this.take(bundle.items) }, "Add all"), again));
    if (hadFocus) again.focus();
    announce(`A bundle of ${plural(bundle.items.length, "item")}.`);
  }

  /** @param {any[]} items */
  take(items) {
    this.tries = 0;
    this.add(items);
  }
}
