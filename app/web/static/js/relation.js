/** Badge for the relation of an item to the cart: an icon, a word and a distinct border. */

import { h, s } from "./dom.js";

/** @typedef {"complement" | "substitute" | "neutral"} Relation */

const SIGNS = {
  complement: "M8 2v12M2 8h12",
  substitute: "M2 5h11l-3-3M14 11H3l3 3",
  neutral: "M3 8h10",
};
const WORDS = { complement: "goes with", substitute: "instead of", neutral: "neutral" };

/**
 * @param {Relation} relation
 * @param {string} [word]
 */
export function badge(relation, word = WORDS[relation]) {
  const sign = s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: SIGNS[relation] }));
  return h("span", { class: "relation", "data-relation": relation }, sign, word);
}
