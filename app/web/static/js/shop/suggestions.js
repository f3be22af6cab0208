/** What the cart should get next: a ranking that moves as the cart and the knobs do. */

import { ask } from "../api.js";
import { announce, byId, h } from "../dom.js";
import { nameOf, percent, price } from "../format.js";
import { probabilityBar } from "../meter.js";
import { Panel, note } from "../panel.js";
import { badge } from "../relation.js";
import { movingTo } from "./moving.js";

const COUNT = 8;
const WORTH_NAMING = 0.25; // of the strongest reason's effect

/** @typedef {{ item_id: string, name: string | null, effect: number }} Reason */

/**
 * "because you have …", from the reasons that point the same way as the relation.
 * @param {{ relation: string, because: Reason[] }} pick
 */
function because(pick) {
  const against = pick.relation === "substitute";
  const strength = (/** @type {Reason} */ reason) => (against ? -reason.effect : reason.effect);
  const most = Math.max(0, ...pick.because.map(strength));
  const reasons = pick.because.filter((reason) => most > 0 && strength(reason) >= WORTH_NAMING * most).slice(0, 2);
  if (!reasons.length) return h("p", { class: "because" }, "popular by itself");
  const names = reasons.flatMap((reason, index) => [index ? " and " : "", h("b", {}, nameOf(reason))]);
  return h("p", { class: "because" }, against ? "much like the " : "because you have ", names, against ? " you have" : "");
}

/** Shows the recommendations. */
export class SuggestionsPanel {
  /**
   * @param {import("./state.js").Shop} shop
   * @param {(items: any[]) => void} add
   */
  constructor(shop, add) {
    this.shop = shop;
    this.add = add;
    this.panel = new Panel(byId("suggestions"), { lines: COUNT });
    this.list = h("ol", { class: "picks" });
  }

  recover() {
    this.panel.recover();
  }

  refresh() {
    const call = { path: "/recommend", query: { ...this.shop.basket, k: COUNT, explain: true, fill: true, ...this.shop.knobs } };
    this.panel.showRequest(call);
    this.panel.load((signal) => ask({ ...call, signal }), (answer) => this.show(answer));
  }

  /** @param {{ items: any[], fallback: { message: string } | null }} answer */
  show(answer) {
    this.shop.remember(answer.items);
    if (!answer.items.length) {
      this.panel.show(note(answer.fallback?.message ?? "There is nothing left to suggest."));
      return;
    }
    const most = Math.max(...answer.items.map((pick) => pick.probability));
    movingTo(this.list, answer.items.map((pick) => [pick.item_id, this.pick(pick, most)]));
    this.panel.show(answer.fallback && h("p", { class: "soft small" }, answer.fallback.message), this.list);
    announce(`First suggestion: ${nameOf(answer.items[0])}, ${percent(answer.items[0].probability)}.`);
  }

  /** @param {any} pick @param {number} most */
  pick(pick, most) {
    return h("li", { "data-item": pick.item_id, "data-relation": pick.relation },
      h("h3", {}, nameOf(pick)),
      h("button", { type: "button", class: "round add", "aria-label": `Add ${nameOf(pick)} to the cart`, onclick: () => this.add([pick]) }, "+"),
      because(pick),
      h("div", { class: "facts small" },
        h("span", { class: "number", title: "The probability that this is the next item" }, percent(pick.probability)),
        probabilityBar(most > 0 ? pick.probability / most : 0),
        h("span", { class: "row" }, pick.relation === "neutral" ? null : badge(pick.relation), h("span", { class: "soft number" }, price(pick.price)))));
  }
}
