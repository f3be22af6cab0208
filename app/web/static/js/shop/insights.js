/** Insights: predicted size of the basket, coherence and related pairs. */

import { ask } from "../api.js";
import { byId, h } from "../dom.js";
import { figure, nameOf, percent, plural } from "../format.js";
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
      this.panel.load(async () => {}, () => this.panel.show(note("Add an item to see how complete the cart is.")));
      return;
    }
    const call = { path: `/carts/${this.shop.cartId}/insights` };
    this.panel.showRequest(call);
    this.panel.load((signal) => ask({ ...call, signal }), (answer) => this.show(answer));
  }

  /** @param {any} answer */
  show(answer) {
    this.panel.show(
      answer.basket_size ? this.forecast(answer) : note("This model was trained by an older release and cannot predict the size of the basket."),
      answer.coherence && h("p", { class: "small" }, "The items go together better than those of ",
        h("b", { class: "number" }, percent(answer.coherence.percentile / 100)), " of baskets of similar size."),
      this.pairs(answer));
  }

  /** @param {any} answer */
  forecast({ probability_complete: complete, expected_further_items: further, basket_size: { low, high } }) {
    const end = low === high ? plural(low, "different item") : `${low} to ${high} different items`;
    return h("div", { class: "gauge" },
      ring(complete, percent(complete), "likely complete"),
      h("div", { class: "stack small" },
        h("p", {}, "Most carts like this end with ", h("b", { class: "number" }, end), "."),
        h("p", {}, h("b", { class: "number" }, figure(Number(further.toFixed(1)))), " more items on average."),
        h("p", {}, h("b", { class: "number" }, percent(complete)), " of such carts get no further item.")));
  }

  /** @param {any} answer */
  pairs(answer) {
    const listed = [
      ...answer.complements.slice(0, 2).map((/** @type {any} */ pair) => ["complement", pair, "together"]),
      ...answer.substitutes.slice(0, 2).map((/** @type {any} */ pair) => ["substitute", pair, "alternatives"]),
    ];
    return listed.length ? h("ul", { class: "pairs" }, listed.map(([relation, pair, word]) => h("li", {},
      badge(relation, word),
      h("span", {}, `${nameOf(this.shop.item(pair.first))} and ${nameOf(this.shop.item(pair.second))} `,
        h("span", { class: "soft number" }, `lift ${figure(pair.lift)}`))))) : null;
  }
}
