/** The cart: quantities, removal, a swap for a substitute, the total, the checkout. */

import { ask, itemPath } from "../api.js";
import { announce, byId, h } from "../dom.js";
import { nameOf, plural, price } from "../format.js";
import { Panel, note } from "../panel.js";
import { badge } from "../relation.js";


/** Shows the cart as the service has it. */
export class CartPanel {
  /** @param {import("./state.js").Shop} shop */
  constructor(shop) {
    this.shop = shop;
    this.message = h("div", {});
    byId("cart-body").append(this.message);
    this.panel = new Panel(byId("cart-body"), { delay: 0, lines: 2 });
  }

  start() {
    this.panel.load(() => this.shop.restore(), () => this.shop.dispatchEvent(new Event("cart")));
  }

  recover() {
    this.message.replaceChildren();
    this.panel.recover();
  }

  /**
   * Do it, or say why not and leave the cart as it is; true if it was done.
   * @param {() => Promise<unknown>} action
   */
  async attempt(action) {
    try {
      await action();
      this.message.replaceChildren();
      return true;
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      this.message.replaceChildren(h("p", { class: "note bad" }, message));
      announce(message);
      return false;
    }
  }

  render() {
    const { lines, cartId, lastCall } = this.shop;
    if (lastCall) this.panel.showRequest(lastCall);
    else if (cartId) this.panel.showRequest({ path: `/carts/${cartId}` });
    if (!lines.length) {
      this.panel.show(note("Nothing in it yet. Add something from the shelves, and see what the model makes of it."));
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
  }

  /**
   * A redrawn button keeps the focus; if its line is gone, the cart takes it.
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
    swap.addEventListener("click", () => {
      swaps.hidden = !swaps.hidden;
      swap.setAttribute("aria-expanded", String(!swaps.hidden));
      if (!swaps.hidden) this.showSwaps(item, swaps);
    });
    const step = (/** @type {string} */ sign, /** @type {number} */ by, /** @type {string} */ word) =>
      h("button", { type: "button", "aria-label": `${word} ${name}`, "data-focus": `${sign}${item.item_id}`, onclick: () => set(line.quantity + by) }, sign);
    return h("li", {},
      h("div", { class: "line" },
        h("h3", {}, name),
        h("span", { class: "quantity" }, step("−", -1, "One less"), h("output", { "aria-label": `Quantity of ${name}` }, line.quantity), step("+", 1, "One more")),
        h("div", { class: "line-actions small" }, h("span", { class: "soft number" }, this.shop.items.has(item.item_id) ? price(item.price) : "unknown to the model"), swap, h("button", { type: "button", class: "quiet", "aria-label": `Remove ${name}`, onclick: () => set(0) }, "Remove"))),
      swaps);
  }

  /** @param {import("./state.js").Item} item @param {number} quantity */
  async setQuantity(item, quantity) {
    if (!(await this.attempt(() => this.shop.setQuantity(item.item_id, quantity)))) return;
    announce(quantity > 0 ? `${nameOf(item)}: ${quantity}.` : `${nameOf(item)} removed.`);
  }

  /** @param {import("./state.js").Item} item @param {HTMLElement} place */
  async showSwaps(item, place) {
    const call = { path: `${itemPath(item.item_id)}/related`, query: { relation: "substitute", k: 4 } };
    this.panel.showRequest(call);
    place.replaceChildren("Looking …");
    try {
      const { items: found } = await ask(call);
      this.shop.remember(found);
      place.replaceChildren(...(found.length ? [this.swapList(item, found)] : ["Nothing replaces it, as far as the baskets tell."]));
    } catch (error) {
      place.replaceChildren(/** @type {Error} */ (error).message);
    }
  }

  /** @param {import("./state.js").Item} item @param {any[]} others */
  swapList(item, others) {
    return h("ul", {}, others.map((other) => h("li", {},
      h("span", {}, badge("substitute", "instead"), " ", nameOf(other)),
      h("button", { type: "button", "aria-label": `Take ${nameOf(other)} instead of ${nameOf(item)}`, onclick: () => this.attempt(() => this.shop.swap(item.item_id, other.item_id)) }, "Take"))));
  }

  async checkOut() {
    const bought = this.shop.count;
    if (!(await this.attempt(() => this.shop.checkOut()))) return;
    this.panel.show(note(`Thank you. ${plural(bought, "item")} went into the purchase log, and the next training learns from them.`));
    announce("Checked out.");
    byId("cart").focus();
  }
}
