/** Entry point of the rules page. */

import { startAdmin } from "../dashboard/admin.js";
import { ask } from "../api.js";
import { byId, h } from "../dom.js";
import { watchStatus } from "../status.js";
import { RuleForm } from "./form.js";
import { RuleList } from "./list.js";
import { Preview } from "./preview.js";

const FIELDS = ["price", "in_stock", "name", "parent_id", "category"];
const LEVELS = " > ";

const form = new RuleForm(() => list.rules);
const list = new RuleList((rule) => open(rule));
const preview = new Preview(() => ({ draft: form.draft(), replaces: form.rule?.rule_id }));

/** The categories of the shop and those above them. */
async function loadCategories() {
  const { categories } = await ask({ path: "/categories" }).catch(() => ({ categories: [] }));
  const paths = categories.flatMap((/** @type {{ category: string }} */ { category }) => {
    const levels = category.split(LEVELS);
    return levels.map((_, index) => levels.slice(0, index + 1).join(LEVELS));
  });
  form.categories = [...new Set(paths)].sort((a, b) => a.localeCompare(b));
}

let categories = loadCategories();

/** @param {any} [rule] none creates a new one */
async function open(rule) {
  await categories;
  await form.open(rule);
}

document.body.append(h("datalist", { id: "field-names" }, FIELDS.map((value) => h("option", { value }))));
byId("new-rule").addEventListener("click", () => open());
form.addEventListener("draft", () => preview.refresh());
form.addEventListener("saved", (event) => list.put(/** @type {CustomEvent} */ (event).detail));
form.addEventListener("deleted", (event) => list.remove(/** @type {CustomEvent} */ (event).detail));
form.addEventListener("closed", () => {
  if (form.rule) list.focus(form.rule.rule_id, "button");
  else byId("new-rule").focus();
  preview.refresh();
});
list.addEventListener("rules", () => {
  if (!form.isOpen) preview.refresh();
});
startAdmin();
watchStatus(() => {
  categories = loadCategories();
  list.recover();
  preview.recover();
});
list.refresh();
preview.refresh();
