/** Names of items that rules and previews mention by their ids. */

import { ask } from "./api.js";
import { nameOf } from "./format.js";

const AT_ONCE = 200; // the most items of one page

/** @type {Map<string, string>} */
const names = new Map();

/** @param {{ item_id: string, name?: string | null }[]} items */
export function remember(items) {
  for (const item of items) names.set(item.item_id, nameOf(item));
}

/**
 * The name of an item; its id if the name is not known.
 * @param {string} itemId
 */
export const nameById = (itemId) => names.get(itemId) ?? itemId;

/**
 * Load names that are not known yet. Items that the shop does not have keep their ids.
 * @param {string[]} itemIds
 */
export async function loadNames(itemIds) {
  const missing = [...new Set(itemIds)].filter((id) => !names.has(id)).slice(0, AT_ONCE);
  if (!missing.length) return;
  const page = await ask({ path: "/items", query: { filter: JSON.stringify({ field: "id", in: missing }), limit: AT_ONCE } });
  remember(page.items);
}
