/** "Shop as": who shops, and "Forget me". */

import { askAsAdmin } from "../admin.js";
import { ask } from "../api.js";
import { agreed } from "../dialog.js";
import { byId, h } from "../dom.js";
import { plural } from "../format.js";

/** Shows the shoppers that the settings offer; hidden if there are none. */
export class ShopperPanel {
  /** @param {import("./state.js").Shop} shop */
  constructor(shop) {
    this.shop = shop;
    this.select = /** @type {HTMLSelectElement} */ (byId("shopper"));
    this.forgetButton = byId("forget");
    this.message = byId("shopper-message");
    this.select.addEventListener("change", () => this.attempt(() => this.choose(this.select.value || null)));
    this.forgetButton.addEventListener("click", () => this.attempt(() => this.forget()));
  }

  /** Load the shoppers; without an answer the page goes on without them. */
  async start() {
    try {
      this.offer((await ask({ path: "/storefront/shoppers" })).shoppers);
      this.retry = false;
    } catch {
      this.retry = true;
    }
  }

  recover() {
    if (this.retry) this.start();
  }

  /** @param {string[]} shoppers of whom the one of an earlier visit shops again */
  offer(shoppers) {
    const { shopperId } = this.shop;
    this.shop.shopperId = shoppers.includes(shopperId) ? shopperId : null;
    this.select.replaceChildren(
      h("option", { value: "" }, "nobody"),
      ...shoppers.map((each) => h("option", { value: each }, each)));
    byId("shopper-panel").hidden = !shoppers.length;
    this.render();
  }

  /** @param {() => Promise<void>} action whose error is shown */
  async attempt(action) {
    try {
      await action();
    } catch (error) {
      this.say(/** @type {Error} */ (error).message, true);
    }
    this.select.value = this.shop.shopperId ?? "";
  }

  /** @param {string | null} shopperId */
  async choose(shopperId) {
    await this.shop.shopAs(shopperId);
    this.render();
  }

  /** Delete all that is known about the shopper, after a confirmation. */
  async forget() {
    const { shopperId } = this.shop;
    if (shopperId === null) return;
    const sure = await agreed({ id: "forget", title: `Forget ${shopperId}?`, action: "Forget" },
      h("p", {}, `This deletes what ${shopperId} bought, its carts and its entries in the purchase log. The next training job leaves them out. It cannot be undone.`));
    const deleted = sure && (await askAsAdmin({ method: "DELETE", path: `/shoppers/${encodeURIComponent(shopperId)}` }));
    if (!deleted) return;
    await this.shop.restore(); // the cart may be deleted
    await this.choose(null);
    this.shop.dispatchEvent(new Event("cart"));
    this.say(forgotten(shopperId, deleted));
    this.select.focus();
  }

  render() {
    const { shopperId } = this.shop;
    this.select.value = shopperId ?? "";
    this.forgetButton.hidden = shopperId === null;
    this.say(shopperId === null
      ? "Choose somebody to see recommendations from what they bought before."
      : `Recommendations consider what ${shopperId} bought before.`);
  }

  /** @param {string} sentence @param {boolean} [bad] */
  say(sentence, bad = false) {
    this.message.textContent = sentence;
    this.message.classList.toggle("bad", bad);
  }
}

/**
 * What was deleted, in words.
 * @param {string} shopperId
 * @param {{ profile: boolean, carts: number, purchases: number, files: "pending" | "none" }} deleted
 */
function forgotten(shopperId, { profile, carts, purchases, files }) {
  const parts = [profile && "the profile", carts && plural(carts, "cart"), purchases && plural(purchases, "purchase")].filter(Boolean);
  if (!parts.length) return `Nothing was stored about ${shopperId}.`;
  const later = files === "pending" ? " The worker removes it from the files of purchases." : "";
  return `Forgotten about ${shopperId}: ${parts.join(", ")}.${later}`;
}
