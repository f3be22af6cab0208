/** Bundles: items that people buy together, with the cart or without one. */

import { ask } from "../api.js";
import { announce, byId, h } from "../dom.js";
import { count, nameOf, percent, plural, price } from "../format.js";
import { Panel, note } from "../panel.js";

const USUAL_SIZE = 3;
const MOST_SKIPPED = 50; // limit of the API

/** Shows one bundle of k items at a time, best first. */
export class BundlePanel {
  /**
   * @param {import("./state.js").Shop} shop
   * @param {(items: any[]) => void} add
   */
  constructor(shop, add) {
    this.shop = shop;
    this.add = add;
    this.skip = 0;
    this.size = /** @type {HTMLInputElement} */ (h("input", { id: "bundle-k", type: "range", min: 2, max: 8, value: USUAL_SIZE }));
    const output = h("output", { for: "bundle-k", class: "number" }, USUAL_SIZE);
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
    this.load(0);
  }

  /** @param {number} skip how many of the best bundles to leave out */
  load(skip) {
    this.skip = skip;
    const call = this.shop.question("/bundles", { k: Number(this.size.value), ...(skip ? { skip } : {}) });
    this.panel.showRequest(call);
    this.panel.load((signal) => ask({ ...call, signal }), (answer) => this.show(answer));
  }

  /** @param {any} answer */
  show(answer) {
    const hadFocus = document.activeElement?.id === "bundle-again";
    const [bundle] = answer.bundles;
    const again = this.again(bundle !== undefined && this.skip < MOST_SKIPPED);
    if (bundle) {
      this.panel.show(
        this.card(bundle, answer.cart.items),
        answer.fallback && h("p", { class: "soft small" }, answer.fallback.message),
        h("div", { class: "row" }, h("button", { type: "button", class: "primary", onclick: () => this.add(bundle.items) }, "Add all"), again));
      announce(`A bundle of ${plural(bundle.items.length, "item")}.`);
    } else {
      this.panel.show(note(answer.fallback?.message ?? "No bundle can be built from these items."), this.skip ? again : null);
    }
    if (hadFocus) again.focus();
  }

  /** @param {boolean} more whether there may be another bundle after this one */
  again(more) {
    const onclick = () => this.load(more ? this.skip + 1 : 0);
    return h("button", { type: "button", id: "bundle-again", onclick }, more ? "Another one" : "Back to the first");
  }

  /** @param {any} bundle @param {string[]} given the items of the cart that the model knows */
  card(bundle, given) {
    return h("div", { class: "bundle" },
      h("ul", {}, bundle.items.map((/** @type {any} */ item) => h("li", {},
        h("span", {}, nameOf(item), item.goes_with && h("span", { class: "soft small" }, `goes with ${nameOf(item.goes_with)}`)),
        h("span", { class: "soft number" }, price(item.price))))),
      h("p", { class: "total number" }, h("span", {}, "Total"), h("span", { id: "bundle-total" }, price(bundle.total_price))),
      this.facts(bundle, given).map((sentence) => h("p", { class: "soft small number" }, sentence)));
  }

  /**
   * What is known about a bundle, in sentences; nothing for models that do not know it.
   * @param {any} bundle
   * @param {string[]} given
   */
  facts({ baskets, by_chance: chance, probability }, given) {
    const sentences = [];
    if (baskets) sentences.push(`Bought together${given.length ? " with the cart" : ""} in ${plural(baskets, "basket")}, ${byChance(chance)} by chance.`);
    const among = given.length ? "carts like this end with" : "all baskets hold";
    if (probability !== null) sentences.push(`${percent(probability)} of ${among} all of it.`);
    return sentences;
  }
}

/** @param {number} expected baskets */
function byChance(expected) {
  if (expected < 0.1) return "almost none";
  return count(expected < 10 ? Number(expected.toFixed(1)) : Math.round(expected));
}
