/** Attributes of an item as rows of a name, a type and a value. */

import { h } from "../dom.js";
import { InputError, choice, textInput } from "../forms.js";

/** @typedef {string | number | boolean | string[]} Value */
/** @typedef {"text" | "number" | "boolean" | "list"} Kind */

/** @type {[Kind, string][]} */
const KINDS = [["text", "text"], ["number", "number"], ["boolean", "yes or no"], ["list", "list"]];

/**
 * @param {Value} value
 * @returns {Kind}
 */
function kindOf(value) {
  if (Array.isArray(value)) return "list";
  return typeof value === "string" ? "text" : /** @type {Kind} */ (typeof value);
}

/**
 * @param {Kind} kind
 * @param {string} text
 * @returns {import("../forms.js").Control}
 */
function control(kind, text) {
  const named = { "aria-label": kind === "list" ? "Values, one a line" : "Value", "data-part": "value" };
  if (kind === "boolean") {
    const select = choice([["true", "yes"], ["false", "no"]], named);
    select.value = text === "false" ? "false" : "true";
    return select;
  }
  const input = kind === "list" ? /** @type {HTMLTextAreaElement} */ (h("textarea", { rows: 2, placeholder: "one a line", ...named })) : textInput(named);
  input.value = text;
  return input;
}

/** One attribute. */
class Row {
  /** @param {string} name @param {Value} value @param {() => void} removed */
  constructor(name, value, removed) {
    this.name = textInput({ "aria-label": "Name of the attribute", maxlength: 64 });
    this.name.value = name;
    this.kind = choice(KINDS, { "aria-label": "Type" });
    this.kind.value = kindOf(value);
    this.value = control(kindOf(value), Array.isArray(value) ? value.join("\n") : String(value));
    this.kind.addEventListener("change", () => this.setKind());
    const remove = h("button", { type: "button", class: "quiet", "aria-label": `Remove the attribute ${name}`, onclick: removed }, "Remove");
    this.root = h("li", {}, this.name, this.kind, this.value, remove);
  }

  setKind() {
    const next = control(/** @type {Kind} */ (this.kind.value), this.value.value);
    this.value.replaceWith(next);
    this.value = next;
  }

  /** @returns {Value} */
  read() {
    const text = this.value.value.trim();
    if (this.kind.value === "boolean") return text === "true";
    if (this.kind.value === "list") return text.split("\n").map((line) => line.trim()).filter(Boolean);
    if (this.kind.value === "text") return text;
    if (text === "" || !Number.isFinite(Number(text))) throw new InputError({ where: "attributes", message: `${this.name.value}: “${text}” is not a number` });
    return Number(text);
  }
}

/** The rows. */
export class AttributeRows {
  /** @param {Record<string, Value>} attributes */
  constructor(attributes) {
    this.list = h("ul", { class: "attributes" });
    /** @type {Row[]} */
    this.rows = [];
    this.button = h("button", { type: "button", onclick: () => this.add("", "").name.focus() }, "Add an attribute");
    this.root = h("fieldset", { class: "all", "data-where": "attributes" },
      h("legend", {}, "Attributes"), this.list, h("p", { class: "wrong small" }), this.button);
    for (const [name, value] of Object.entries(attributes)) this.add(name, value);
  }

  /** @param {string} name @param {Value} value */
  add(name, value) {
    const row = new Row(name, value, () => {
      this.rows = this.rows.filter((one) => one !== row);
      row.root.remove();
      this.button.focus();
      this.root.dispatchEvent(new Event("input", { bubbles: true }));
    });
    this.rows.push(row);
    this.list.append(row.root);
    return row;
  }

  /** @returns {Record<string, Value>} */
  read() {
    /** @type {Record<string, Value>} */
    const found = {};
    for (const row of this.rows) {
      const name = row.name.value.trim();
      if (name === "" && row.value.value.trim() === "") continue;
      if (name in found) throw new InputError({ where: "attributes", message: `two attributes have the name ${name}` });
      found[name] = row.read();
    }
    return found;
  }
}
