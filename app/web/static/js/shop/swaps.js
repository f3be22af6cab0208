/** Replacements for an item of the cart. */

import { h } from "../dom.js";
import { nameOf, percent, priceDifference, timesUsual } from "../format.js";
import { badge } from "../relation.js";

/**
 * @param {any} entry an item of the answer of GET /carts/{cart_id}/substitutes
 * @param {(other: any) => void} replace
 * @returns {import("../dom.js").Child[]}
 */
export function swapChoices(entry, replace) {
  const { replacements, shortage } = entry;
  return [
    entry.in_stock === false && h("p", {}, h("b", {}, "Out of stock."), replacements.length ? " Replace it with:" : ""),
    replacements.length
      ? h("ul", {}, replacements.map((/** @type {any} */ other) => choice(entry, other, replace)))
      : h("p", {}, shortage.message),
  ];
}

/** @param {any} item @param {any} other @param {(other: any) => void} replace */
function choice(item, other, replace) {
  const { price_difference: difference, probability, times_usual: times } = other;
  const fit = times === null ? null : timesUsual(times);
  const title = probability === null ? null : `Probability that this is the next item of the rest of the cart: ${percent(probability)}`;
  return h("li", {},
    h("div", {},
      h("p", {}, nameOf(other)),
      h("p", { class: "small number" }, badge("substitute", "instead"), " ", difference === null ? null : priceDifference(difference)),
      fit ? h("p", { class: "soft small number", title }, `${fit} with the rest of the cart`) : null),
    h("button", { type: "button", "aria-label": `Replace ${nameOf(item)} with ${nameOf(other)}`, onclick: () => replace(other) }, "Replace"));
}
