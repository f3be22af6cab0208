/** Rules in plain sentences. */

import { nameById } from "../names.js";

/** @typedef {Record<string, any>} Condition as in the API */

/** @type {Record<string, string>} */
const BOUNDS = { lt: "below", le: "at most", gt: "above", ge: "at least" };

/** @param {string[]} words @param {string} last */
const joined = (words, last) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`);

/** @param {unknown} value */
const shown = (value) => (typeof value === "boolean" ? (value ? "yes" : "no") : String(value));

/** @param {Condition} condition */
const valuesOf = (condition) => ("is" in condition ? [condition.is] : condition.in);

/**
 * What a condition means, such as "items of Wine".
 * @param {Condition} condition
 * @returns {string}
 */
function meant(condition) {
  if (condition.all) return joined(condition.all.map((/** @type {Condition} */ part, /** @type {number} */ place) => (place ? meant(part).replace(/^items /, "") : meant(part))), "and");
  if (condition.any) return joined(condition.any.map(meant), "or");
  if (condition.not) return `all but ${meant(condition.not)}`;
  const values = valuesOf(condition);
  if (condition.field === "id" && values) return joined(values.map(nameById), "or");
  if (condition.field === "category" && values) return `items of ${joined(values.map(shown), "or")}`;
  if (values) return `items with ${condition.field} ${joined(values.map(shown), "or")}`;
  if ("exists" in condition) return `items with${condition.exists ? "" : "out"} ${condition.field}`;
  const bounds = Object.entries(BOUNDS).filter(([name]) => name in condition).map(([name, word]) => `${word} ${condition[name]}`);
  return `items with ${condition.field} ${joined(bounds, "and")}`;
}

/**
 * What the cart has or lacks: shorter, because it is clear that a cart holds items.
 * @param {Condition} condition
 */
const held = (condition) => meant(condition).replace(/^items of /, "");

/** @param {number} number @param {string} items */
function many(number, items) {
  if (!items.startsWith("items ")) return `of ${items}`;
  return number === 1 ? items.replace("items", "item") : items;
}

/** @param {any} then */
function deed(then) {
  switch (then.action) {
    case "pin": return `Show ${nameById(then.item_id)} at place ${then.position}`;
    case "boost": return `Boost ${meant(then.items)} ×${then.factor}`;
    case "bury": return `Bury ${meant(then.items)} ×${then.factor}`;
    case "hide": return `Hide ${meant(then.items)}`;
    default: return `Show at most ${then.most} ${many(then.most, meant(then.items))}`;
  }
}

/** @param {{ when?: any, then: any }} rule */
export function sentence({ when = {}, then }) {
  const has = when.cart_has && `the cart has ${held(when.cart_has)}`;
  const lacks = when.cart_lacks && `the cart has no ${held(when.cart_lacks)}`;
  const cart = [has, lacks].filter(Boolean).join(" and ");
  return `${deed(then)}${cart ? ` when ${cart}` : ""}.`;
}

/**
 * The ids of items that a rule names.
 * @param {any} part
 * @returns {string[]}
 */
export function idsIn(part) {
  if (part === null || typeof part !== "object") return [];
  if (part.field === "id") return (valuesOf(part) ?? []).map(String);
  return [...(typeof part.item_id === "string" ? [part.item_id] : []), ...Object.values(part).flatMap(idsIn)];
}
