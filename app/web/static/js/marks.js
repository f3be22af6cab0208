/** Small labels of items: what is new to the model, and what the rules of the shop act on. */

import { h } from "./dom.js";
import { plural } from "./format.js";

/** @param {{ cold?: boolean }} item */
export function newMark(item) {
  const title = "The model does not know this item yet: it is ranked like similar items.";
  return item.cold ? h("span", { class: "mark", title }, "new") : null;
}

/**
 * The answer names the rules but not what they do, so neither does the label.
 * @param {{ rules?: string[] }} item
 */
export function ruleMark({ rules = [] }) {
  if (!rules.length) return null;
  const words = `${plural(rules.length, "rule")} of the shop ${rules.length === 1 ? "acts" : "act"} on this item: ${rules.join(", ")}.`;
  return h("span", { class: "mark quiet", title: words }, "shop rule", h("span", { class: "hidden" }, ` ${words}`));
}
