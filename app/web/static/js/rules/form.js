/** Form of a rule: creates, changes or deletes it. */

import { askAsAdmin } from "../admin.js";
import { agreed } from "../dialog.js";
import { announce, byId, h } from "../dom.js";
import { InputError, choice, clearWrong, field, numberIn, showWrong, textIn, textInput } from "../forms.js";
import { ItemChooser } from "../item_chooser.js";
import { ConditionField } from "./condition.js";
import { freeId } from "./ids.js";
import { sentence } from "./sentence.js";
import { localTime, timeIn } from "./times.js";

/** @type {[string, string][]} */
const ACTIONS = [["boost", "Boost: rank items higher"], ["bury", "Bury: rank items lower"], ["pin", "Pin: show an item at a place"], ["hide", "Hide: do not show items"], ["at_most", "At most: limit how many are shown"]];
const LONGEST_NAME = 100;

/** Dispatches `draft` when the rule in the form changes, `saved`, `deleted` and `closed`. */
export class RuleForm extends EventTarget {
  /** @param {() => any[]} stored the stored rules */
  constructor(stored) {
    super();
    this.stored = stored;
    this.root = byId("rule");
    /** @type {string[]} */
    this.categories = [];
    /** @type {any} the stored rule in the form, if any */
    this.rule = undefined;
    this.isChanged = false;
  }

  get isOpen() {
    return !this.root.hidden;
  }

  /** @param {any} [rule] none creates a new one */
  async open(rule) {
    const leave = !this.isOpen || !this.isChanged || (await agreed({ id: "leave", title: "Discard the changes?", action: "Discard" }, h("p", {}, "The form has changes that are not saved.")));
    if (!leave) return;
    this.rule = rule;
    this.isChanged = false;
    this.draw();
    this.root.hidden = false;
    this.root.scrollIntoView({ block: "nearest" });
    this.action.focus();
    this.dispatchEvent(new Event("draft"));
  }

  close() {
    this.root.hidden = true;
    this.isChanged = false;
    this.dispatchEvent(new Event("closed"));
  }

  draw() {
    const { when = {}, then = { action: "boost" }, priority = 0, name = "" } = this.rule ?? {};
    const { categories } = this;
    const filled = (/** @type {string} */ value, /** @type {Record<string, unknown>} */ more = {}) => {
      const input = textInput(more);
      input.value = value;
      return input;
    };
    this.action = choice(ACTIONS);
    this.action.value = then.action;
    this.items = new ConditionField("Which items", { where: "then.items", condition: then.items, categories });
    this.pinned = new ItemChooser("Item to pin", { ids: then.item_id ? [then.item_id] : [], many: false });
    this.position = filled(String(then.position ?? 1), { inputmode: "numeric" });
    this.factor = filled(String(then.factor ?? 2), { inputmode: "decimal" });
    this.most = filled(String(then.most ?? 1), { inputmode: "numeric" });
    this.has = new ConditionField("The cart has", { where: "when.cart_has", condition: when.cart_has, categories, none: "anything" });
    this.lacks = new ConditionField("The cart has none of", { where: "when.cart_lacks", condition: when.cart_lacks, categories, none: "no such condition" });
    this.starts = filled(localTime(when.starts_at), { type: "datetime-local" });
    this.ends = filled(localTime(when.ends_at), { type: "datetime-local" });
    this.priority = filled(String(priority), { inputmode: "numeric" });
    this.name = filled(name, { maxlength: LONGEST_NAME, placeholder: "What the rule does" });
    this.message = h("div", { class: "all" });
    this.then = h("div", { class: "fields all" });
    this.form = h("form", { class: "fields", novalidate: true },
      this.message,
      field("What to do", this.action, { all: true }),
      this.then,
      this.has.root, this.lacks.root,
      field("From", this.starts, { where: "when.starts_at" }),
      field("Until", this.ends, { where: "when.ends_at" }),
      field("Name", this.name, { where: "name" }),
      field("Priority", this.priority, { where: "priority", hint: "A higher one goes first." }),
      this.actions());
    this.action.addEventListener("change", () => this.drawThen());
    this.pinned.addEventListener("change", () => this.changed());
    this.form.addEventListener("input", () => this.changed());
    this.form.addEventListener("change", () => this.changed());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.save();
    });
    this.drawThen();
    this.root.replaceChildren(h("h2", { id: "rule-title" }, this.rule ? `Change “${this.rule.name}”` : "New rule"), this.form);
  }

  drawThen() {
    const action = this.action.value;
    if (action === "bury" && Number(this.factor.value) > 1) this.factor.value = "0.1";
    if (action === "boost" && Number(this.factor.value) < 1) this.factor.value = "2";
    const factorHint = action === "boost" ? "How many times as likely, above 1." : "The share of their probability that counts, from 0.001 to below 1.";
    const item = h("div", { class: "all", "data-where": "then.item_id" }, h("p", { class: "legend" }, "Item"), this.pinned.root, h("p", { class: "wrong small" }));
    this.then.replaceChildren(...(action === "pin"
      ? [item, field("Place", this.position, { where: "then.position", hint: "1 is the first place of the list." })]
      : [this.items.root]));
    if (action === "boost" || action === "bury") this.then.append(field("Factor", this.factor, { where: "then.factor", hint: factorHint }));
    if (action === "at_most") this.then.append(field("At most", this.most, { where: "then.most", hint: "Items in one list." }));
  }

  actions() {
    const remove = this.rule ? h("button", { type: "button", class: "quiet danger", onclick: () => this.remove() }, "Delete") : null;
    return h("div", { class: "row all" },
      h("button", { type: "submit", class: "primary" }, this.rule ? "Save" : "Create"),
      h("button", { type: "button", class: "quiet", onclick: () => this.close() }, "Close"),
      remove);
  }

  changed() {
    this.isChanged = true;
    this.dispatchEvent(new Event("draft"));
  }

  /** @returns {any} what the rule does; throws InputError */
  readThen() {
    const action = this.action.value;
    if (action === "pin") {
      const [itemId] = this.pinned.ids;
      if (itemId === undefined) throw new InputError({ where: "then.item_id", message: "choose the item to pin" });
      return { action, item_id: itemId, position: numberIn(this.position) ?? 1 };
    }
    const items = this.items.value();
    if (action === "hide") return { action, items };
    return action === "at_most" ? { action, items, most: numberIn(this.most) } : { action, items, factor: numberIn(this.factor) };
  }

  /** @returns {any} the body of the rule; throws InputError */
  read() {
    const then = this.readThen();
    const [starts, ends] = [timeIn(this.starts.value, this.rule?.when.starts_at), timeIn(this.ends.value, this.rule?.when.ends_at)];
    if (starts && ends && Date.parse(starts) >= Date.parse(ends)) throw new InputError({ where: "when.ends_at", message: "the end must be after the beginning" });
    const when = { cart_has: this.has.value(), cart_lacks: this.lacks.value(), starts_at: starts, ends_at: ends };
    const body = { when: Object.fromEntries(Object.entries(when).filter(([, value]) => value !== null)), then, priority: numberIn(this.priority) ?? 0, enabled: this.rule?.enabled ?? true };
    return { name: textIn(this.name) ?? sentence(body).slice(0, LONGEST_NAME), ...body };
  }

  /** @returns {any} the rule in the form, null while it is not complete */
  draft() {
    try {
      return this.isOpen ? this.read() : null;
    } catch {
      return null;
    }
  }

  async save() {
    clearWrong(this.form);
    this.message.replaceChildren();
    try {
      const body = this.read();
      const ruleId = this.rule?.rule_id ?? freeId(body.name, this.stored().map((rule) => rule.rule_id));
      const saved = await askAsAdmin({ method: "PUT", path: `/rules/${ruleId}`, body });
      if (saved === undefined) return;
      announce(`The rule ${saved.name} is saved.`);
      this.dispatchEvent(new CustomEvent("saved", { detail: saved }));
      this.close();
    } catch (error) {
      showWrong(this.form, this.message, error);
    }
  }

  async remove() {
    const { rule } = this;
    if (!(await agreed({ id: "delete", title: `Delete “${rule.name}”?`, action: "Delete" }, h("p", {}, sentence(rule))))) return;
    try {
      if ((await askAsAdmin({ method: "DELETE", path: `/rules/${rule.rule_id}` })) === undefined) return;
      announce(`The rule ${rule.name} is deleted.`);
      this.dispatchEvent(new CustomEvent("deleted", { detail: rule }));
      this.close();
    } catch (error) {
      showWrong(this.form, this.message, error);
    }
  }
}
