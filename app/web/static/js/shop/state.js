/** What the panels share: the cart, the dials, and the items seen so far. */

import { Problem, ask, itemPath } from "../api.js";

/** @typedef {{ item_id: string, quantity: number }} Line */
/** @typedef {{ item_id: string, name: string | null, category: string | null, price: number | null }} Item */
/** @typedef {{ discovery: number, cohesion: number }} Dials */
/** @typedef {import("../api.js").Call} Call */

const STORAGE = "tripod.cart";

/** Tells of changes as `cart` and `dials`; every change of the cart is one request to the API. */
export class Shop extends EventTarget {
  constructor() {
    super();
    /** @type {Line[]} */
    this.lines = [];
    /** @type {string | null} */
    this.cartId = localStorage.getItem(STORAGE);
    /** @type {Partial<Dials>} only what is off the centre */
    this.dials = {};
    /** @type {Map<string, Item>} */
    this.items = new Map();
    /** @type {Promise<unknown>} changes follow each other, so that quick fingers do not overtake themselves */
    this.turn = Promise.resolve();
  }

  /** How many things are in the cart. */
  get count() {
    return this.lines.reduce((sum, line) => sum + line.quantity, 0);
  }

  /** The cart as a query names it: none before the first item. */
  get basket() {
    return this.lines.length ? { cart_id: this.cartId } : {};
  }

  /** Take up the cart of an earlier visit. */
  async restore() {
    if (this.cartId === null) return;
    try {
      const cart = await ask({ path: `/carts/${this.cartId}` });
      if (cart.status === "open") await this.take(cart);
      else this.forget();
    } catch (error) {
      if (!(error instanceof Problem && error.status === 404)) throw error;
      this.forget();
    }
  }

  /** @param {Line[]} lines */
  add(lines) {
    return this.change(() => ({ method: "POST", path: `/carts/${this.cartId}/items`, body: { items: lines } }));
  }

  /** @param {string} itemId @param {number} quantity 0 takes it out */
  setQuantity(itemId, quantity) {
    const path = `/carts/${this.cartId}${itemPath(itemId)}`;
    return this.change(() => (quantity > 0 ? { method: "PUT", path, body: { quantity } } : { method: "DELETE", path }));
  }

  /** @param {string} itemId @param {string} other */
  async swap(itemId, other) {
    await this.add([{ item_id: other, quantity: 1 }]);
    await this.setQuantity(itemId, 0);
  }

  /** Buy what is in the cart and begin a new one. */
  async checkOut() {
    await this.change(() => ({ method: "POST", path: `/carts/${this.cartId}/checkout` }));
    this.forget();
    this.dispatchEvent(new Event("cart"));
  }

  /** @param {Partial<Dials>} dials */
  turnDials(dials) {
    this.dials = dials;
    this.dispatchEvent(new Event("dials"));
  }

  /**
   * One request that changes the cart, after those before it.
   * @param {() => Call} call
   */
  change(call) {
    const done = this.turn.then(async () => {
      if (this.cartId === null) {
        this.cartId = (await ask({ method: "POST", path: "/carts" })).cart_id;
        localStorage.setItem(STORAGE, /** @type {string} */ (this.cartId));
      }
      /** @type {Call} the latest change, for the cart's disclosure */
      this.lastCall = call();
      await this.take(await ask(this.lastCall));
    });
    this.turn = done.catch(() => {});
    return done;
  }

  /** @param {{ cart_id: string, items: Line[] }} cart */
  async take(cart) {
    await Promise.all(cart.items.map((line) => this.learn(line.item_id)));
    this.lines = cart.items;
    this.dispatchEvent(new Event("cart"));
  }

  forget() {
    this.cartId = null;
    this.lines = [];
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
   * Look an item's name and price up, unless they are known; a model need not know every item.
   * @param {string} itemId
   */
  async learn(itemId) {
    if (this.items.has(itemId)) return;
    try {
      this.remember([await ask({ path: itemPath(itemId) })]);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
    }
  }
}
