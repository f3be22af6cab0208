/** Whether the cart is finished, and how its items get along. */

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
      this.panel.load(async () => {}, () => this.panel.show(note("With something in the cart, this tells what is still missing.")));
      return;
    }
    const call = { path: `/carts/${this.shop.cartId}/insights` };
    this.panel.showRequest(call);
    this.panel.load((signal) => ask({ ...call, signal }), (answer) => this.show(answer));
  }

  /** @param {any} answer */
  show(answer) {
    this.panel.show(
      answer.basket_size ? this.forecast(answer) : note("This model was trained by an older release and says nothing about the size of the basket."),
      answer.coherence && h("p", { class: "small" }, "Its items go together better than those of ",
        h("b", { class: "number" }, percent(answer.coherence.percentile / 100)), " of all baskets of this size."),
      this.pairs(answer));
  }

  /** @param {any} answer */
  forecast({ probability_complete: complete, expected_further_items: further, basket_size: { low, high } }) {
    const end = low === high ? plural(low, "kind") : `${low} to ${high} kinds`;
    return h("div", { class: "gauge" },
      ring(complete, percent(complete), "likely finished"),
      h("div", { class: "stack small" },
        h("p", {}, "Most carts like this end with ", h("b", { class: "number" }, end), "."),
        h("p", {}, h("b", { class: "number" }, figure(Number(further.toFixed(1)))), " more are to be expected on average."),
        h("p", {}, h("b", { class: "number" }, percent(complete)), " of such carts get nothing more.")));
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
