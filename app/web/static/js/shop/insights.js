/** How complete the cart is, and how its items get along. */

import { ask } from "../api.js";
import { byId, h } from "../dom.js";
import { figure, nameOf, percent } from "../format.js";
import { ring } from "../meter.js";
import { Panel, note } from "../panel.js";
import { badge } from "../relation.js";


/** Shows the insights of the cart. */
export class InsightsPanel {
  /** @param {import("./state.js").Shop} shop */
  constructor(shop) {
    this.shop = shop;
    this.panel = new Panel(byId("insights"), { lines: 2 });
  }

  recover() {
    this.panel.recover();
  }

  refresh() {
    if (!this.shop.lines.length) {
      this.panel.load(async () => {}, () => this.panel.show(note("With something in the cart, this tells what is still missing.")));
      return;
    }
    const call = { path: `/carts/${this.shop.cartId}/insights` };
    this.panel.showRequest(call);
    this.panel.load((signal) => ask({ ...call, signal }), (answer) => this.show(answer));
  }

  /** @param {any} answer */
  show(answer) {
    const here = answer.cart.items.length;
    const further = answer.expected_further_items;
    const share = here + further > 0 ? here / (here + further) : 0;
    this.panel.show(
      h("div", { class: "gauge" },
        ring(share, percent(share), "of the basket"),
        h("div", { class: "stack small" },
          h("p", {}, h("b", { class: "number" }, figure(Number(further.toFixed(1)))), " more items are to be expected."),
          h("p", {}, h("b", { class: "number" }, percent(answer.probability_complete)), " of such carts are finished as they are."),
          answer.coherence && h("p", {}, "It hangs together better than ", h("b", { class: "number" }, percent(answer.coherence.percentile / 100)), " of carts put together at random."))),
      this.pairs(answer));
  }

  /** @param {any} answer */
  pairs(answer) {
    const listed = [
      ...answer.complements.slice(0, 2).map((/** @type {any} */ pair) => ["complement", pair, "together"]),
      ...answer.substitutes.slice(0, 2).map((/** @type {any} */ pair) => ["substitute", pair, "either or"]),
    ];
    return listed.length ? h("ul", { class: "pairs" }, listed.map(([relation, pair, word]) => h("li", {},
      badge(relation, word),
      h("span", {}, `${nameOf(this.shop.item(pair.first))} and ${nameOf(this.shop.item(pair.second))} `,
        h("span", { class: "soft number" }, `lift ${figure(pair.lift)}`))))) : null;
  }
}
