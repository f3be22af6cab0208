/** Shared state of the panels: cart, dials and known items. */

import { Problem, ask, itemPath } from "../api.js";

/** @typedef {{ item_id: string, quantity: number }} Line */
/** @typedef {{ item_id: string, name: string | null, category: string | null, price: number | null }} Item */
/** @typedef {{ discovery: number, cohesion: number }} Dials */
/** @typedef {import("../api.js").Call} Call */

const STORAGE = "tripod.cart";
const SHOPPER = "tripod.shopper";
const FOLLOWED = 1000; // milliseconds until a purchase is part of what is known about its shopper

/** Dispatches `cart`, `dials` and `shopper` events; every change of the cart is one API request. */
export class Shop extends EventTarget {
  constructor() {
    super();
    /** @type {Line[]} */
    this.lines = [];
    /** @type {string | null} */
    this.cartId = localStorage.getItem(STORAGE);
    /** @type {string | null} who shops; null is nobody */
    this.shopperId = localStorage.getItem(SHOPPER);
    this.hasShopper = false; // whether the stored cart belongs to a shopper
    /** @type {Partial<Dials>} only dials that are not at 0 */
    this.dials = {};
    /** @type {Map<string, Item>} */
    this.items = new Map();
    /** @type {Promise<unknown>} queue of changes: quick clicks are sent one after the other */
    this.queue = Promise.resolve();
  }

  /** Sum of the quantities in the cart. */
  get count() {
    return this.lines.reduce((sum, line) => sum + line.quantity, 0);
  }

  /** Who shops, as a part of bodies; empty for nobody. */
  get shopper() {
    return this.shopperId === null ? {} : { shopper_id: this.shopperId };
  }

  /**
   * A question about the cart, by query parameters; for a shopper in a body, which no log of addresses shows.
   * @param {string} path
   * @param {Record<string, string | number | boolean>} options
   * @returns {Call}
   */
  question(path, options) {
    const query = { ...(this.lines.length ? { cart_id: this.cartId } : {}), ...options, ...this.dials };
    return this.shopperId === null ? { path, query } : { method: "POST", path, body: { ...query, ...this.shopper } };
  }

  /** Load the cart of an earlier visit. */
  async restore() {
    if (this.cartId === null) return;
    try {
      const cart = await ask({ path: `/carts/${this.cartId}` });
      if (cart.status === "open") await this.setCart(cart);
      else this.forget();
    } catch (error) {
      if (!(error instanceof Problem && error.status === 404)) throw error;
      this.forget();
    }
  }

  /** @param {Line[]} lines */
  add(lines) {
    return this.change(() => ({ method: "POST", path: `/carts/${this.cartId}/items`, body: { items: lines, ...this.shopper } }));
  }

  /** @param {string} itemId @param {number} quantity 0 removes the item */
  setQuantity(itemId, quantity) {
    const path = `/carts/${this.cartId}${itemPath(itemId)}`;
    return this.change(() => (quantity > 0 ? { method: "PUT", path, body: { quantity } } : { method: "DELETE", path }));
  }

  /** @param {string} itemId @param {string} other which gets the same quantity */
  async swap(itemId, other) {
    const quantity = this.lines.find((line) => line.item_id === itemId)?.quantity ?? 1;
    await this.add([{ item_id: other, quantity }]);
    await this.setQuantity(itemId, 0);
  }

  /** Check out and start a new cart. */
  async checkOut() {
    const body = this.shopperId === null ? undefined : this.shopper;
    await this.change(() => ({ method: "POST", path: `/carts/${this.cartId}/checkout`, body }));
    this.forget();
    this.dispatchEvent(new Event("cart"));
    if (body) setTimeout(() => this.dispatchEvent(new Event("shopper")), FOLLOWED);
  }

  /**
   * Shop as somebody else with the same cart; nobody gets a copy, because a cart remembers its shopper.
   * @param {string | null} shopperId
   */
  async shopAs(shopperId) {
    if (shopperId === null && this.hasShopper && this.lines.length) {
      const old = `/carts/${this.cartId}`, { lines } = this;
      this.shopperId = null;
      this.cartId = null;
      await this.add(lines);
      await ask({ method: "DELETE", path: old });
    }
    this.shopperId = shopperId;
    if (shopperId === null) localStorage.removeItem(SHOPPER);
    else localStorage.setItem(SHOPPER, shopperId);
    this.dispatchEvent(new Event("shopper"));
  }

  /** @param {Partial<Dials>} dials */
  turnDials(dials) {
    this.dials = dials;
    this.dispatchEvent(new Event("dials"));
  }

  /**
   * Send a request that changes the cart, after the changes already queued.
   * @param {() => Call} call
   */
  change(call) {
    const done = this.queue.then(async () => {
      if (this.cartId === null) {
        this.cartId = (await ask({ method: "POST", path: "/carts" })).cart_id;
        localStorage.setItem(STORAGE, /** @type {string} */ (this.cartId));
      }
      /** @type {Call} the latest change, shown in the cart panel */
      this.lastCall = call();
      await this.setCart(await ask(this.lastCall));
    });
    this.queue = done.catch(() => {});
    return done;
  }

  /** @param {{ cart_id: string, items: Line[], has_shopper: boolean }} cart */
  async setCart(cart) {
    await Promise.all(cart.items.map((line) => this.loadItem(line.item_id)));
    this.lines = cart.items;
    this.hasShopper = cart.has_shopper;
    this.dispatchEvent(new Event("cart"));
  }

  forget() {
    this.cartId = null;
    this.lines = [];
    this.hasShopper = false;
    localStorage.removeItem(STORAGE);
  }

  /** @param {Item[]} items */
  remember(items) {
    for (const item of items) this.items.set(item.item_id, item);
  }

  /** @param {string} itemId */
  item(itemId) {
    return this.items.get(itemId) ?? { item_id: itemId, name: null, category: null, price: null };
  }

  /**
   * Load an item's name and price unless they are known. The cart may contain items unknown to the model.
   * @param {string} itemId
   */
  async loadItem(itemId) {
    if (this.items.has(itemId)) return;
    try {
      this.remember([await ask({ path: itemPath(itemId) })]);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
    }
  }
}
