/** Chooses items by a search: a field, what it finds as buttons, and the chosen items. */

import { ask } from "./api.js";
import { announce, h } from "./dom.js";
import { textInput } from "./forms.js";
import { nameOf } from "./format.js";
import { Latest } from "./latest.js";
import { nameById, remember } from "./names.js";

const FOUND = 6;

/** Dispatches `change` when other items are chosen. */
export class ItemChooser extends EventTarget {
  /**
   * @param {string} label
   * @param {{ ids?: string[], many?: boolean }} [options]
   */
  constructor(label, { ids = [], many = true } = {}) {
    super();
    this.ids = ids;
    this.many = many;
    this.latest = new Latest(180);
    this.input = textInput({ type: "search", "aria-label": label, placeholder: "Search items", maxlength: 100 });
    this.found = h("ul", { class: "found" });
    this.chosen = h("ul", { class: "chosen" });
    this.root = h("div", { class: "chooser" }, this.chosen, this.input, this.found);
    // What is typed here is not part of a form around it, only what is chosen.
    for (const type of ["input", "change"]) this.input.addEventListener(type, (event) => event.stopPropagation());
    this.input.addEventListener("input", () => this.search());
    this.input.addEventListener("keydown", (event) => {
      if (/** @type {KeyboardEvent} */ (event).key !== "Enter") return;
      event.preventDefault(); // Enter takes the first one that is found instead of sending the form
      this.found.querySelector("button")?.click();
    });
    this.draw();
  }

  async search() {
    const q = this.input.value.trim();
    if (!q) {
      this.found.replaceChildren();
      return;
    }
    const page = await this.latest.run((signal) => ask({ path: "/items", query: { q, limit: FOUND + this.ids.length }, signal })).catch(() => null);
    if (!page) return;
    remember(page.items);
    const others = page.items.filter((/** @type {any} */ item) => !this.ids.includes(item.item_id)).slice(0, FOUND);
    this.found.replaceChildren(...(others.length ? others.map((/** @type {any} */ item) => this.offer(item)) : [h("li", { class: "soft small" }, "No items found.")]));
  }

  /** @param {any} item */
  offer(item) {
    const choose = () => {
      this.input.value = "";
      this.found.replaceChildren();
      this.input.focus();
      announce(`${nameOf(item)} chosen.`);
      this.set(this.many ? [...this.ids, item.item_id] : [item.item_id]);
    };
    return h("li", {}, h("button", { type: "button", onclick: choose }, nameOf(item), h("span", { class: "soft small" }, item.category)));
  }

  /** @param {string[]} ids */
  set(ids) {
    this.ids = ids;
    this.draw();
    this.dispatchEvent(new Event("change"));
  }

  draw() {
    this.chosen.replaceChildren(...this.ids.map((id) => {
      const remove = () => {
        this.input.focus();
        this.set(this.ids.filter((other) => other !== id));
      };
      return h("li", {}, nameById(id), h("button", { type: "button", class: "quiet", "aria-label": `Remove ${nameById(id)}`, onclick: remove }, "×"));
    }));
  }
}
