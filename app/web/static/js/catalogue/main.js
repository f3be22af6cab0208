/** Entry point of the catalogue page. */

import { byId, h } from "../dom.js";
import { startAdmin } from "../dashboard/admin.js";
import { watchStatus } from "../status.js";
import { ItemForm } from "./form.js";
import { ItemList } from "./list.js";

document.body.append(h("datalist", { id: "categories" }));
const form = new ItemForm();
const list = new ItemList((item) => form.open(item));

byId("new-item").addEventListener("click", () => form.open());
form.addEventListener("saved", (event) => {
  const { item, isNew } = /** @type {CustomEvent} */ (event).detail;
  if (isNew) list.prepend(item);
  else list.replace(item);
});
form.addEventListener("deleted", (event) => list.remove(/** @type {CustomEvent} */ (event).detail));
form.addEventListener("closed", (event) => {
  const item = /** @type {CustomEvent} */ (event).detail;
  const row = item && list.find(item.item_id);
  (row?.querySelector("button") ?? byId("new-item")).focus();
});
startAdmin();
watchStatus(() => list.recover());
list.search();
