/** Choice of items: by category, by name, by a field, or by the JSON of a condition. */

import { h } from "../dom.js";
import { InputError, choice, textInput } from "../forms.js";
import { ItemChooser } from "../item_chooser.js";

/** @typedef {import("./sentence.js").Condition} Condition */
/** @typedef {"any" | "category" | "item" | "field" | "json"} Kind */

/** @type {[string, string][]} */
const KINDS = [["category", "a category"], ["item", "certain items"], ["field", "a field"], ["json", "a condition in JSON"]];
/** @type {[string, string][]} */
const OPERATORS = [["is", "is"], ["lt", "is below"], ["le", "is at most"], ["gt", "is above"], ["ge", "is at least"], ["exists", "exists"]];
const TEXTS = ["id", "name", "parent_id", "category"];

/**
 * The simplest choice that can show a condition.
 * @param {Condition | null} condition
 * @returns {Kind}
 */
function kindOf(condition) {
  if (!condition) return "any";
  const members = Object.keys(condition);
  const values = condition.in ?? ("is" in condition ? [condition.is] : null);
  if (condition.field === "category" && values?.length === 1) return "category";
  if (condition.field === "id" && values) return "item";
  return members.length === 2 && OPERATORS.some(([name]) => name in condition) && condition.exists !== false ? "field" : "json";
}

/**
 * A value as it is compared: true, false and numbers are not texts, unless the field holds texts or it is quoted.
 * @param {string} name
 * @param {string} text
 */
function valueOf(name, text) {
  if (TEXTS.includes(name)) return text;
  if (/^".*"$/.test(text)) return text.slice(1, -1);
  if (["true", "yes"].includes(text.toLowerCase())) return true;
  if (["false", "no"].includes(text.toLowerCase())) return false;
  return text !== "" && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** @param {string} name @param {unknown} value */
const written = (name, value) => (typeof value === "string" && valueOf(name, value) !== value ? `"${value}"` : String(value));

/** One condition in the form of a rule. */
export class ConditionField {
  /**
   * @param {string} label
   * @param {{ where: string, condition?: Condition | null, categories: string[], none?: string }} options
   *   `none` are the words for no condition
   */
  constructor(label, { where, condition = null, categories, none }) {
    this.where = where;
    this.condition = condition;
    this.categories = categories;
    this.label = label;
    this.kind = choice([.../** @type {[string, string][]} */ (none ? [["any", none]] : []), ...KINDS], { "aria-label": label });
    const kind = kindOf(condition);
    this.kind.value = kind === "any" && !none ? "category" : kind;
    this.place = h("div", { class: "choice" });
    this.root = h("fieldset", { class: "all condition", "data-where": where }, h("legend", {}, label), this.kind, this.place, h("p", { class: "wrong small" }));
    this.kind.addEventListener("change", () => this.draw());
    this.draw();
  }

  draw() {
    const { condition } = this;
    const same = condition !== null && kindOf(condition) === this.kind.value;
    const parts = { any: () => [], category: () => this.drawCategory(same), item: () => this.drawItems(same), field: () => this.drawField(same), json: () => this.drawJson() };
    this.place.replaceChildren(...parts[/** @type {Kind} */ (this.kind.value)]());
  }

  /** @param {boolean} same whether the stored condition is of this kind */
  drawCategory(same) {
    const stored = same ? this.condition?.in?.[0] ?? this.condition?.is : null;
    const names = stored && !this.categories.includes(stored) ? [stored, ...this.categories] : this.categories;
    const select = choice(names.map((name) => [name, name]), { "aria-label": `${this.label}: category` });
    if (stored) select.value = stored;
    this.read = () => ({ field: "category", in: [select.value] });
    return [select];
  }

  /** @param {boolean} same */
  drawItems(same) {
    const ids = same ? this.condition?.in ?? [this.condition?.is] : [];
    const chooser = new ItemChooser(`${this.label}: items`, { ids });
    chooser.addEventListener("change", () => this.root.dispatchEvent(new Event("input", { bubbles: true })));
    this.read = () => {
      if (!chooser.ids.length) throw new InputError({ where: this.where, message: "choose at least one item" });
      return { field: "id", in: chooser.ids };
    };
    return [chooser.root];
  }

  /** @param {boolean} same */
  drawField(same) {
    const name = textInput({ "aria-label": `${this.label}: field`, list: "field-names", placeholder: "field" });
    const operator = choice(OPERATORS, { "aria-label": `${this.label}: comparison` });
    const value = textInput({ "aria-label": `${this.label}: value`, placeholder: "value" });
    if (same && this.condition) {
      const [used] = /** @type {[string, string]} */ (OPERATORS.find(([one]) => one in /** @type {Condition} */ (this.condition)));
      [name.value, operator.value, value.value] = [this.condition.field, used, written(this.condition.field, this.condition[used])];
    }
    const exists = () => operator.value === "exists";
    const toggle = () => (value.hidden = exists());
    operator.addEventListener("change", toggle);
    toggle();
    this.read = () => {
      const field = name.value.trim();
      if (!field) throw new InputError({ where: this.where, message: "name a field, such as price" });
      return { field, [operator.value]: exists() ? true : valueOf(field, value.value.trim()) };
    };
    return [h("div", { class: "comparison" }, name, operator, value)];
  }

  drawJson() {
    const text = /** @type {HTMLTextAreaElement} */ (h("textarea", { class: "code", rows: 4, spellcheck: "false", "aria-label": `${this.label}: JSON` }));
    text.value = JSON.stringify(this.condition ?? { all: [{ field: "price", lt: 20 }, { field: "in_stock", is: true }] }, null, 1).replace(/\n */g, " ");
    this.read = () => {
      try {
        return JSON.parse(text.value);
      } catch {
        throw new InputError({ where: this.where, message: "this is not valid JSON" });
      }
    };
    return [text];
  }

  /** @returns {Condition | null} what is chosen; throws InputError */
  value() {
    return this.kind.value === "any" ? null : this.read();
  }
}
