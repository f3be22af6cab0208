/** Form of one item: changes it, creates it or deletes it. */

import { askAsAdmin } from "../admin.js";
import { ask, itemPath } from "../api.js";
import { agreed } from "../dialog.js";
import { announce, byId, h } from "../dom.js";
import { InputError, clearWrong, field, numberIn, showWrong, textIn, textInput } from "../forms.js";
import { nameOf } from "../format.js";
import { note } from "../panel.js";
import { picture } from "../picture.js";
import { AttributeRows } from "./attributes.js";
import { changesOf, given } from "./changes.js";

const ADDRESS = /^(https?:\/\/|\/)[^/\s]\S*$/; // what the API accepts as the address of a picture
const EMPTY = { item_id: "", name: null, category: null, price: null, in_stock: true, boost: 1, image_url: null, parent_id: null, attributes: {}, cold: true };

/** Dispatches `saved` and `deleted` with the item. */
export class ItemForm extends EventTarget {
  constructor() {
    super();
    this.root = byId("item");
    this.isChanged = false;
    this.clear();
  }

  clear() {
    this.isChanged = false;
    this.root.hidden = false;
    this.root.replaceChildren(h("h2", { id: "item-title" }, "Item"), note("Choose an item to change it, or create a new one."));
  }

  /**
   * Show an item; asks first if something typed would be lost.
   * @param {any} [item] none creates a new one
   */
  async open(item) {
    const leave = !this.isChanged || (await agreed({ id: "leave", title: "Discard the changes?", action: "Discard" }, h("p", {}, "The form has changes that are not saved.")));
    if (!leave) return;
    this.draw(item);
    this.root.scrollIntoView({ block: "nearest" });
    (item ? this.inputs.name : this.inputs.item_id).focus();
  }

  /** @param {any} [item] */
  draw(item) {
    this.isChanged = false;
    this.item = item;
    const shown = item ?? EMPTY;
    const text = (/** @type {unknown} */ value) => (value === null ? "" : String(value));
    this.inputs = Object.fromEntries(["item_id", "name", "category", "price", "boost", "image_url", "parent_id"].map((name) => {
      const input = textInput({ name });
      input.value = text(shown[name]);
      return [name, input];
    }));
    this.inputs.category.setAttribute("list", "categories");
    for (const name of ["price", "boost"]) this.inputs[name].setAttribute("inputmode", "decimal");
    this.stock = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", role: "switch", id: "stock", checked: shown.in_stock }));
    this.attributes = new AttributeRows(shown.attributes);
    this.message = h("div", { class: "all" });
    this.preview = h("div", { class: "preview" });
    this.form = h("form", { class: "fields", novalidate: true }, this.message, ...this.fields(), this.actions());
    this.form.addEventListener("input", () => (this.isChanged = true));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.save();
    });
    for (const name of ["image_url", "category", "name"]) this.inputs[name].addEventListener("change", () => this.showPicture());
    this.showPicture();
    this.root.replaceChildren(h("h2", { id: "item-title" }, item ? `Change ${nameOf(item)}` : "New item"), this.form);
  }

  fields() {
    const { item_id: id, name, category, price, boost, image_url: image, parent_id: parent } = this.inputs;
    return [
      this.item ? h("p", { class: "all soft small" }, "Id ", h("code", {}, this.item.item_id)) : field("Id", id, { where: "item_id", all: true, hint: "As in the baskets of the shop. It cannot be changed later." }),
      field("Name", name, { where: "name", all: true }),
      field("Category", category, { where: "category", all: true, hint: "Levels are separated by “>”: Drinks > Wine." }),
      field("Price", price, { where: "price" }),
      field("Boost", boost, { where: "boost", hint: "Factor on the odds. 1 is neutral, 0 hides the item." }),
      h("label", { class: "switch all", for: "stock" }, this.stock, "In stock"),
      h("div", { class: "all with-picture" }, this.preview, field("Picture", image, { where: "image_url", hint: "The address of a picture on the web." })),
      field("Variant of", parent, { where: "parent_id", all: true, hint: "Items with the same id here are variants: a list shows one of them." }),
      this.attributes.root,
    ];
  }

  actions() {
    const remove = this.item ? h("button", { type: "button", class: "quiet danger", onclick: () => this.remove() }, "Delete") : null;
    const close = h("button", { type: "button", class: "quiet", onclick: () => this.close() }, "Close");
    return h("div", { class: "row all" }, h("button", { type: "submit", class: "primary" }, this.item ? "Save" : "Create"), close, remove);
  }

  showPicture() {
    const { image_url: image, category, name } = this.inputs;
    const address = textIn(image) ?? "";
    this.preview.replaceChildren(picture({ item_id: this.item?.item_id || "?", name: textIn(name), category: textIn(category), image_url: ADDRESS.test(address) ? address : null }));
  }

  close() {
    const { item } = this;
    this.clear();
    this.dispatchEvent(new CustomEvent("closed", { detail: item }));
  }

  read() {
    const { name, category, price, boost, image_url: image, parent_id: parent } = this.inputs;
    return {
      name: textIn(name), category: textIn(category), price: numberIn(price), in_stock: this.stock.checked, boost: numberIn(boost),
      image_url: textIn(image), parent_id: textIn(parent), attributes: this.attributes.read(),
    };
  }

  /** @returns {Promise<import("../api.js").Call | null>} null if nothing has changed */
  async call() {
    const fields = this.read();
    if (fields.name === null && (this.item ?? EMPTY).cold) throw new InputError({ where: "name", message: "an item needs a name" });
    if (this.item) {
      const body = changesOf(this.item, fields);
      return Object.keys(body).length ? { method: "PATCH", path: itemPath(this.item.item_id), body } : null;
    }
    const id = textIn(this.inputs.item_id);
    if (id === null) throw new InputError({ where: "item_id", message: "an item needs an id" });
    const { items } = await ask({ path: "/items", query: { filter: JSON.stringify({ field: "id", is: id }) } });
    const taken = items.find((/** @type {any} */ item) => item.item_id === id);
    if (taken) throw new InputError({ where: "item_id", message: `there is an item with this id already: ${nameOf(taken)}` });
    return { method: "PUT", path: itemPath(id), body: given(fields) };
  }

  async save() {
    clearWrong(this.form);
    this.message.replaceChildren();
    try {
      const call = await this.call();
      const saved = call === null ? this.item : await askAsAdmin(call);
      if (saved === undefined) return;
      const isNew = !this.item;
      this.draw(saved);
      this.message.replaceChildren(h("p", { class: "done" }, call === null ? "Nothing has changed." : "Saved."));
      /** @type {HTMLElement} */ (this.form.querySelector("[type=submit]")).focus();
      announce(`${nameOf(saved)} is saved.`);
      this.dispatchEvent(new CustomEvent("saved", { detail: { item: saved, isNew } }));
    } catch (error) {
      showWrong(this.form, this.message, error);
    }
  }

  async remove() {
    const { item } = this;
    const words = h("p", {}, `${nameOf(item)} is not shown any more, also if the model knows it. Carts and purchases keep it.`);
    if (!(await agreed({ id: "delete", title: `Delete ${nameOf(item)}?`, action: "Delete" }, words))) return;
    try {
      if ((await askAsAdmin({ method: "DELETE", path: itemPath(item.item_id) })) === undefined) return;
      announce(`${nameOf(item)} is deleted.`);
      this.clear();
      this.dispatchEvent(new CustomEvent("deleted", { detail: item }));
    } catch (error) {
      showWrong(this.form, this.message, error);
    }
  }
}
