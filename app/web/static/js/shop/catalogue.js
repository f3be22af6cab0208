/** Catalogue: search, departments and pages of items. */

import { ask } from "../api.js";
import { announce, byId, h } from "../dom.js";
import { count, nameOf, plural, price } from "../format.js";
import { newMark } from "../marks.js";
import { Panel, note } from "../panel.js";
import { picture } from "../picture.js";

const PAGE = 24;

/** Lists items, most popular first. */
export class Catalogue {
  /**
   * @param {import("./state.js").Shop} shop
   * @param {(items: any[]) => void} add
   */
  constructor(shop, add) {
    this.shop = shop;
    this.add = add;
    this.panel = new Panel(byId("shelves"), { delay: 180, lines: 6 });
    this.words = /** @type {HTMLInputElement} */ (byId("words"));
    this.department = "";
    byId("search").addEventListener("submit", (event) => event.preventDefault());
    this.words.addEventListener("input", () => this.search());
  }

  start() {
    this.search();
    this.loadDepartments();
  }

  recover() {
    this.panel.recover();
    if (!byId("departments").querySelector("input")) this.loadDepartments();
  }

  async loadDepartments() {
    const { categories } = await ask({ path: "/categories" }).catch(() => ({ categories: [] }));
    if (!categories.length) return;
    const total = categories.reduce((/** @type {number} */ sum, /** @type {{ items: number }} */ one) => sum + one.items, 0);
    const chips = [{ category: "", items: total }, ...categories].map(({ category, items }) => {
      const radio = h("input", { type: "radio", name: "department", value: category, checked: category === this.department });
      radio.addEventListener("change", () => {
        this.department = category;
        this.search();
      });
      return h("label", {}, radio, category || "All", " ", h("span", { class: "soft number" }, count(items)));
    });
    byId("departments").append(...chips);
  }

  search() {
    const call = { path: "/items", query: { q: this.words.value.trim(), category: this.department, limit: PAGE } };
    this.panel.showRequest(call);
    this.panel.load((signal) => ask({ ...call, signal }), (page) => this.show(call, page));
  }

  /** @param {import("../api.js").Call} call @param {{ items: any[], next_cursor: string | null }} page */
  show(call, page) {
    this.shop.remember(page.items);
    if (!page.items.length) {
      this.panel.show(note("No items found. Try a shorter search or another department."));
      announce("No items found.");
      return;
    }
    const list = h("ul", { class: "goods" }, page.items.map((item) => this.card(item)));
    const more = h("button", { type: "button", class: "more" }, "Show more");
    let cursor = page.next_cursor;
    more.hidden = cursor === null;
    more.addEventListener("click", () => {
      const next = { ...call, query: { ...call.query, cursor } };
      this.panel.showRequest(next);
      this.panel.load((signal) => ask({ ...next, signal }), (answer) => {
        this.shop.remember(answer.items);
        const cards = answer.items.map((/** @type {any} */ item) => this.card(item));
        list.append(...cards);
        cards[0]?.querySelector("button")?.focus();
        cursor = answer.next_cursor;
        more.hidden = cursor === null;
      });
    });
    this.panel.show(list, more);
    if (this.words.value) announce(`${plural(page.items.length, "item")} shown, the first is ${nameOf(page.items[0])}.`);
  }

  /** @param {any} item */
  card(item) {
    const button = h("button", {
      type: "button",
      disabled: !item.in_stock,
      "aria-label": item.in_stock ? `Add ${nameOf(item)} to the cart` : `${nameOf(item)} is sold out`,
      onclick: () => this.add([item]),
    }, item.in_stock ? "Add" : "Sold out");
    return h("li", {},
      picture(item),
      h("p", { class: "soft small" }, item.category ?? "No department"),
      h("h3", {}, nameOf(item), " ", newMark(item)),
      h("div", { class: "row spread" }, h("span", { class: "number" }, price(item.price)), button));
  }
}
