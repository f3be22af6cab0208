/** Item explorer: complements and substitutes of an item. */

import { ask, itemPath } from "../api.js";
import { announce, byId, h } from "../dom.js";
import { nameOf, plural } from "../format.js";
import { Latest } from "../latest.js";
import { Panel, note } from "../panel.js";
import { relationGraph } from "./graph.js";

const COUNT = 6;
const MATCHES = 12;

/** Searches /items and shows both lists of /items/{id}/related. */
export class Explorer {
  constructor() {
    this.panel = new Panel(byId("explorer"), { delay: 0, lines: 4 });
    this.latest = new Latest(180);
    this.input = /** @type {HTMLInputElement} */ (h("input", { id: "explore", type: "search", list: "matches", placeholder: "Search for an item", autocomplete: "off", maxlength: 100 }));
    this.matches = h("datalist", { id: "matches" });
    this.title = h("p", { class: "soft" });
    this.panel.root.prepend(h("div", { class: "picker" }, h("div", {}, h("label", { class: "hidden", for: "explore" }, "Item"), this.input, this.matches), this.title));
    this.input.addEventListener("input", () => this.suggest());
    this.input.addEventListener("change", () => this.choose());
    /** @type {{ item_id: string, name: string | null }[]} */
    this.found = [];
  }

  recover() {
    this.panel.recover();
  }

  /** Show the chosen item; the most popular one if none is chosen or the active model does not know it. */
  async refresh() {
    const [same, popular] = await Promise.all([this.itemId, ""].map((q) => ask({ path: "/items", query: { q, limit: MATCHES } }))).catch(() => []);
    const item = same?.items.find((/** @type {any} */ found) => found.item_id === this.itemId) ?? popular?.items[0];
    if (item) this.explore(item.item_id);
  }

  /** The found item whose name or id equals the input. */
  named() {
    const text = this.input.value.trim();
    return this.found.find((item) => nameOf(item) === text || item.item_id === text);
  }

  async suggest() {
    const named = this.named();
    if (named) {
      this.explore(named.item_id);
      return;
    }
    const query = { q: this.input.value.trim(), limit: MATCHES };
    const page = await this.latest.run((signal) => ask({ path: "/items", query, signal })).catch(() => null);
    if (!page) return;
    this.found = page.items;
    this.matches.replaceChildren(...this.found.map((item) => h("option", { value: nameOf(item) })));
  }

  /** Explore the item in the input; Enter takes the best match. */
  choose() {
    const item = this.named() ?? this.found[0];
    if (item && this.input.value.trim()) this.explore(item.item_id);
  }

  /** @param {string} itemId */
  explore(itemId) {
    this.itemId = itemId;
    const path = `${itemPath(itemId)}/related`;
    const [withIt, instead] = ["complement", "substitute"].map((relation) => ({ path, query: { relation, k: COUNT } }));
    this.panel.showRequest(withIt, instead);
    this.panel.load(
      (signal) => Promise.all([ask({ path: itemPath(itemId), signal }), ask({ ...withIt, signal }), ask({ ...instead, signal })]),
      ([item, complements, substitutes]) => this.show(item, complements.items, substitutes.items));
  }

  /** @param {any} item @param {any[]} withIt @param {any[]} instead */
  show(item, withIt, instead) {
    const words = `${nameOf(item)}: ${plural(withIt.length, "complement")}, ${plural(instead.length, "substitute")}.`;
    this.title.textContent = `${words} The numbers are lifts (how many times as often the two items are bought together as by chance) with 95 % intervals, strongest evidence first.`;
    announce(words);
    if (!withIt.length && !instead.length) {
      this.panel.show(note("No complements or substitutes found for this item."));
      return;
    }
    const view = h("div", { class: "scroll" }, relationGraph(item, instead, withIt, (other) => this.explore(other)));
    this.panel.show(view);
    // On a phone the graph is wider than the screen: scroll to where the items are.
    view.scrollLeft = (view.scrollWidth - view.clientWidth) * (instead.length ? 0.5 : 1);
  }
}
