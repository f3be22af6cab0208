/** Entry point of the storefront: connects the panels to the cart. */

import { announce, byId } from "../dom.js";
import { nameOf, plural } from "../format.js";
import { watchStatus } from "../status.js";
import { BundlePanel } from "./bundle.js";
import { CartPanel } from "./cart.js";
import { Catalogue } from "./catalogue.js";
import { Dials } from "./dials.js";
import { InsightsPanel } from "./insights.js";
import { ShopperPanel } from "./shopper.js";
import { Shop } from "./state.js";
import { SuggestionsPanel } from "./suggestions.js";

const shop = new Shop();

/**
 * Add items to the cart and announce it; an error is shown in the cart panel.
 * @param {import("./state.js").Item[]} items
 */
async function add(items) {
  shop.remember(items);
  const done = await cart.attempt(() => shop.add(items.map((item) => ({ item_id: item.item_id, quantity: 1 }))));
  if (!done) return;
  const what = items.length === 1 ? nameOf(items[0]) : plural(items.length, "item");
  announce(`${what} added. ${plural(shop.count, "item")} in the cart.`);
}

const cart = new CartPanel(shop);
const catalogue = new Catalogue(shop, add);
const followers = [new SuggestionsPanel(shop, add), new BundlePanel(shop, add)];
const insights = new InsightsPanel(shop);
const shopper = new ShopperPanel(shop);
new Dials(shop);

shop.addEventListener("cart", () => {
  byId("count").textContent = String(shop.count);
  cart.render();
  insights.refresh();
  for (const panel of followers) panel.refresh();
});
for (const change of ["dials", "shopper"]) {
  shop.addEventListener(change, () => {
    for (const panel of followers) panel.refresh();
  });
}

watchStatus(() => {
  for (const part of [shopper, catalogue, cart, insights, ...followers]) part.recover();
});
catalogue.start();
shopper.start().finally(() => cart.start());
