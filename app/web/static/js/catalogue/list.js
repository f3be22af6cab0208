/** List of items: search, categories, pages, and a switch for the stock. */

import { askAsAdmin } from "../admin.js";
import { ask, itemPath } from "../api.js";
import { announce, byId, h } from "../dom.js";
import { count, nameOf, plural, price } from "../format.js";
import { newMark } from "../marks.js";
import { Panel, note } from "../panel.js";
import { picture } from "../picture.js";

const PAGE = 30;

/** Shows GET /items. */
export class ItemList {
  /** @param {(item: any) => void} edit */
  constructor(edit) {
    this.edit = edit;
    this.message = h("div", {});
    this.total = h("p", { class: "soft small number", id: "total" });
    byId("items").append(this.total, this.message);
    this.panel = new Panel(byId("items"), { delay: 180, lines: 6 });
    this.words = /** @type {HTMLInputElement} */ (byId("words"));
    this.category = /** @type {HTMLSelectElement} */ (byId("category"));
    this.list = h("ul", { class: "entries" });
    this.more = h("button", { type: "button", class: "more", onclick: () => this.next() }, "Show more");
    byId("search").addEventListener("submit", (event) => event.preventDefault());
    for (const control of [this.words, this.category]) control.addEventListener("input", () => this.search());
  }

  recover() {
    this.panel.recover();
  }

  search() {
    this.call = { path: "/items", query: { q: this.words.value.trim(), category: this.category.value, limit: PAGE } };
    this.panel.showRequest(this.call);
    this.panel.load((signal) => ask({ ...this.call, signal }), (page) => {
      this.list.replaceChildren(...page.items.map((/** @type {any} */ item) => this.row(item)));
      this.showCategories(page.categories);
      this.count = page.total;
      this.showTotal();
      this.setCursor(page.next_cursor);
      this.panel.show(...(page.items.length ? [this.list, this.more] : [note("No items found. Try a shorter search or another category.")]));
      if (this.words.value) announce(`${plural(page.total, "item")} found.`);
    });
  }

  next() {
    const next = { ...this.call, query: { ...this.call.query, cursor: this.cursor } };
    this.panel.showRequest(next);
    this.panel.load((signal) => ask({ ...next, signal }), (page) => {
      const rows = page.items.map((/** @type {any} */ item) => this.row(item));
      this.list.append(...rows);
      this.setCursor(page.next_cursor);
      rows[0]?.querySelector("button")?.focus();
    });
  }

  /** @param {string | null} cursor of the next page */
  setCursor(cursor) {
    this.cursor = cursor;
    this.more.hidden = cursor === null;
  }

  showTotal() {
    this.total.textContent = plural(this.count, "item");
  }

  /** @param {{ category: string, items: number }[]} categories how many items of each match the search */
  showCategories(categories) {
    const chosen = this.category.value;
    const names = new Map(categories.map(({ category, items }) => [category, `${category} (${count(items)})`]));
    if (chosen && !names.has(chosen)) names.set(chosen, chosen);
    this.category.replaceChildren(h("option", { value: "" }, "All categories"), ...[...names].map(([value, words]) => h("option", { value }, words)));
    this.category.value = chosen;
    byId("categories").replaceChildren(...[...names.keys()].map((value) => h("option", { value })));
  }

  /** @param {any} item */
  row(item) {
    const name = nameOf(item);
    const words = h("span", {}, item.in_stock ? "In stock" : "Sold out");
    const stock = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", role: "switch", "aria-label": `${name} is in stock`, checked: item.in_stock }));
    stock.addEventListener("change", () => this.setStock(item, stock));
    const button = h("button", { type: "button", "aria-label": `Change ${name}`, onclick: () => this.edit(item) }, "Change");
    return h("li", { "data-item": item.item_id },
      picture(item),
      h("div", { class: "entry" }, h("h2", {}, name, " ", newMark(item)), h("p", { class: "soft small" }, h("code", {}, item.item_id), item.category ? ` · ${item.category}` : "", item.boost === 0 ? " · hidden" : "")),
      h("span", { class: "number price" }, price(item.price)),
      h("label", { class: "switch small" }, stock, words),
      button);
  }

  /** @param {any} item @param {HTMLInputElement} control */
  async setStock(item, control) {
    const wanted = control.checked;
    control.disabled = true;
    this.message.replaceChildren();
    try {
      const saved = await askAsAdmin({ method: "PATCH", path: itemPath(item.item_id), body: { in_stock: wanted } });
      if (saved !== undefined) {
        announce(`${nameOf(item)} is ${wanted ? "in stock" : "sold out"}.`);
        this.replace(saved, "input");
        return;
      }
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      this.message.replaceChildren(h("p", { class: "note bad" }, message));
      announce(message);
    }
    control.disabled = false;
    control.checked = !wanted;
  }

  /** @param {string} itemId */
  find(itemId) {
    return /** @type {HTMLElement[]} */ ([...this.list.children]).find((row) => row.dataset.item === itemId);
  }

  /**
   * Show a changed item in its row.
   * @param {any} item
   * @param {string} [focus] the part that gets the focus
   */
  replace(item, focus) {
    const next = this.row(item);
    this.find(item.item_id)?.replaceWith(next);
    if (focus) /** @type {HTMLElement | null} */ (next.querySelector(focus))?.focus();
  }

  /** @param {any} item a new one, shown first until the next search */
  prepend(item) {
    this.list.prepend(this.row(item));
    this.panel.show(this.list, this.more);
    this.count += 1;
    this.showTotal();
  }

  /** @param {any} item */
  remove(item) {
    this.find(item.item_id)?.remove();
    this.count -= 1;
    this.showTotal();
    byId("main").focus();
  }
}
