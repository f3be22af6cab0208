/** Recommendations for the cart, updated with the cart and the dials. */

import { ask } from "../api.js";
import { announce, byId, h } from "../dom.js";
import { nameOf, oneIn, percent, price, timesUsual } from "../format.js";
import { newMark, ruleMark } from "../marks.js";
import { probabilityBar } from "../meter.js";
import { Panel, note } from "../panel.js";
import { picture } from "../picture.js";
import { badge } from "../relation.js";
import { movingTo } from "./moving.js";
import { because } from "./reasons.js";

const COUNT = 8;

/** Shows the answer of GET /recommend. */
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
    /** @type {Set<string>} items whose reasons are open; they stay open after the next answer */
    this.open = new Set();
  }

  recover() {
    this.panel.recover();
  }

  refresh() {
    const call = this.shop.question("/recommend", { k: COUNT, explain: true, fill: true });
    this.panel.showRequest(call);
    this.panel.load((signal) => ask({ ...call, signal }), (answer) => this.show(answer));
  }

  /** @param {{ items: any[], fallback: { message: string } | null }} answer */
  show(answer) {
    this.shop.remember(answer.items);
    const { shopperId, lines } = this.shop;
    const own = answer.items.some((pick) => pick.because.some((/** @type {any} */ reason) => reason.source === "own"));
    byId("next-title").textContent = own && !lines.length ? "You may be about to buy" : "Recommendations";
    if (!answer.items.length) {
      this.panel.show(note(answer.fallback?.message ?? "No items left to recommend."));
      return;
    }
    const most = Math.max(0, ...answer.items.map((pick) => pick.probability ?? 0));
    movingTo(this.list, answer.items.map((pick) => [pick.item_id, this.pick(pick, most)]));
    const anybody = shopperId !== null && !own && !lines.length && `No purchases of ${shopperId} are known: this is for anybody.`;
    this.panel.show(...[anybody, answer.fallback?.message].map((words) => words && h("p", { class: "soft small" }, words)), this.list);
    const [first] = answer.items;
    announce(`First recommendation: ${nameOf(first)}${first.probability ? `, ${percent(first.probability)}` : ""}.`);
  }

  /** @param {any} pick @param {number} most the highest probability of the list */
  pick(pick, most) {
    const { probability, times_usual: times } = pick;
    const toggle = (/** @type {boolean} */ open) => (open ? this.open.add(pick.item_id) : this.open.delete(pick.item_id));
    const odds = probability ? [oneIn(probability), times && timesUsual(times)].filter(Boolean).join(", ") : "";
    return h("li", { "data-item": pick.item_id, "data-relation": pick.relation },
      picture(pick),
      h("h3", {}, nameOf(pick)),
      h("button", { type: "button", class: "round add", "aria-label": `Add ${nameOf(pick)} to the cart`, onclick: () => this.add([pick]) }, "+"),
      because(pick.because, this.open.has(pick.item_id), toggle),
      h("div", { class: "facts small" },
        probability ? h("b", { class: "number", title: "Probability that this is the next item" }, percent(probability)) : null,
        probability ? probabilityBar(probability / most) : null,
        h("span", { class: "row price" }, pick.relation === "neutral" ? null : badge(pick.relation), h("span", { class: "soft number" }, price(pick.price)))),
      h("div", { class: "below row spread" }, odds ? h("p", { class: "odds soft small number" }, odds) : null, h("span", { class: "row" }, newMark(pick), ruleMark(pick))));
  }
}
