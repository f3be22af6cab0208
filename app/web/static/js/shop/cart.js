/** Cart panel: quantities, removal, substitutes, total and checkout. */

import { ask, isAbort } from "../api.js";
import { announce, byId, h } from "../dom.js";
import { nameOf, plural, price } from "../format.js";
import { Latest } from "../latest.js";
import { Panel, note } from "../panel.js";
import { swapChoices } from "./swaps.js";

/** Shows the cart that the service stores. */
export class CartPanel {
  /** @param {import("./state.js").Shop} shop */
  constructor(shop) {
    this.shop = shop;
    this.message = h("div", {});
    byId("cart-body").append(this.message);
    this.panel = new Panel(byId("cart-body"), { delay: 0, lines: 2 });
    this.offers = new Latest(0);
    /** @type {Map<string, (entry: any) => void>} shows the replacements of an item below its line */
    this.openSwaps = new Map();
    /** @type {Set<string>} items announced as out of stock */
    this.soldOut = new Set();
  }

  start() {
    this.panel.load(() => this.shop.restore(), () => this.shop.dispatchEvent(new Event("cart")));
  }

  recover() {
    this.message.replaceChildren();
    this.panel.recover();
    if (this.shop.lines.length) this.offerSwaps();
  }

  /**
   * Run an action and show its error, if any; returns whether it succeeded.
   * @param {() => Promise<unknown>} action
   */
  async attempt(action) {
    try {
      await action();
      this.message.replaceChildren();
      return true;
    } catch (error) {
      this.report(error);
      return false;
    }
  }

  /** @param {unknown} error */
  report(error) {
    const { message } = /** @type {Error} */ (error);
    this.message.replaceChildren(h("p", { class: "note bad" }, message));
    announce(message);
  }

  render() {
    const { lines, cartId, lastCall } = this.shop;
    if (lastCall) this.panel.showRequest(lastCall);
    else if (cartId) this.panel.showRequest({ path: `/carts/${cartId}` });
    this.openSwaps.clear();
    if (!lines.length) {
      this.panel.show(note("Your cart is empty. Add an item to see how the recommendations change."));
      return;
    }
    const focused = document.activeElement?.getAttribute("data-focus");
    const prices = lines.map((line) => [this.shop.item(line.item_id).price, line.quantity]);
    const total = prices.reduce((sum, [one, many]) => sum + (one ?? 0) * (many ?? 0), 0);
    this.panel.show(
      h("ul", { class: "lines" }, lines.map((line) => this.line(line))),
      h("p", { class: "total number" }, h("span", {}, plural(this.shop.count, "item")), h("span", { id: "cart-total" }, price(total))),
      h("button", { type: "button", class: "primary", onclick: () => this.checkOut() }, "Check out"));
    if (focused) this.focus(focused);
    this.offerSwaps();
  }

  /**
   * Restore the focus after a redraw; if the line is gone, the cart gets the focus.
   * @param {string} key
   */
  focus(key) {
    const button = [...this.panel.content.querySelectorAll("[data-focus]")].find((one) => one.getAttribute("data-focus") === key);
    /** @type {HTMLElement} */ (button ?? byId("cart")).focus();
  }

  /** @param {import("./state.js").Line} line */
  line(line) {
    const item = this.shop.item(line.item_id);
    const name = nameOf(item);
    /** @param {number} quantity */
    const set = (quantity) => this.setQuantity(item, quantity);
    const swaps = h("div", { class: "swaps", hidden: true });
    const swap = h("button", { type: "button", class: "quiet", "aria-expanded": "false", "aria-label": `Swap ${name}` }, "Swap");
    const toggle = (/** @type {boolean} */ open) => {
      swaps.hidden = !open;
      swap.setAttribute("aria-expanded", String(open));
    };
    swap.addEventListener("click", () => {
      toggle(swaps.hidden);
      if (!swaps.hidden) this.showSwaps(item, swaps);
    });
    this.openSwaps.set(item.item_id, (entry) => {
      toggle(true);
      this.fillSwaps(entry, swaps);
    });
    const step = (/** @type {string} */ sign, /** @type {number} */ by, /** @type {string} */ word) =>
      h("button", { type: "button", "aria-label": `${word} ${name}`, "data-focus": `${sign}${item.item_id}`, onclick: () => set(line.quantity + by) }, sign);
    return h("li", {},
      h("div", { class: "line" },
        h("h3", {}, name),
        h("span", { class: "quantity" }, step("−", -1, "One fewer"), h("output", { "aria-label": `Quantity of ${name}` }, line.quantity), step("+", 1, "One more")),
        h("div", { class: "line-actions small" }, h("span", { class: "soft number" }, this.shop.items.has(item.item_id) ? price(item.price) : "unknown to the model"), swap, h("button", { type: "button", class: "quiet", "aria-label": `Remove ${name}`, onclick: () => set(0) }, "Remove"))),
      swaps);
  }

  /** @param {import("./state.js").Item} item @param {number} quantity */
  async setQuantity(item, quantity) {
    if (!(await this.attempt(() => this.shop.setQuantity(item.item_id, quantity)))) return;
    announce(quantity > 0 ? `${nameOf(item)}: ${quantity}.` : `${nameOf(item)} removed.`);
  }

  /** Offer replacements for the items that are out of stock. */
  async offerSwaps() {
    const call = { path: `/carts/${this.shop.cartId}/substitutes` };
    try {
      const { items } = await this.offers.run((signal) => ask({ ...call, signal }));
      for (const entry of items) {
        this.openSwaps.get(entry.item_id)?.(entry);
        if (!this.soldOut.has(entry.item_id)) announce(`${nameOf(entry)} is out of stock.`);
      }
      this.soldOut = new Set(items.map((/** @type {any} */ entry) => entry.item_id));
    } catch (error) {
      if (!isAbort(error)) this.report(error);
    }
  }

  /** @param {import("./state.js").Item} item @param {HTMLElement} place */
  async showSwaps(item, place) {
    const call = { path: `/carts/${this.shop.cartId}/substitutes`, query: { replace: JSON.stringify([item.item_id]) } };
    this.panel.showRequest(call);
    place.replaceChildren("Loading …");
    try {
      const { items: [entry] } = await ask(call);
      this.fillSwaps(entry, place);
    } catch (error) {
      place.replaceChildren(/** @type {Error} */ (error).message);
    }
  }

  /** @param {any} entry @param {HTMLElement} place */
  fillSwaps(entry, place) {
    this.shop.remember(entry.replacements);
    place.replaceChildren(h("div", {}, swapChoices(entry, (other) => this.swap(entry, other))));
  }

  /** @param {import("./state.js").Item} item @param {import("./state.js").Item} other */
  async swap(item, other) {
    if (!(await this.attempt(() => this.shop.swap(item.item_id, other.item_id)))) return;
    announce(`${nameOf(item)} replaced with ${nameOf(other)}.`);
    byId("cart").focus();
  }

  async checkOut() {
    const bought = this.shop.count;
    if (!(await this.attempt(() => this.shop.checkOut()))) return;
    this.panel.show(note(`Thank you. ${plural(bought, "item")} added to the purchase log. The next training job learns from them.`));
    announce("Checked out.");
    byId("cart").focus();
  }
}
