/** A dialog that asks one question. */

import { h } from "./dom.js";

/** @typedef {import("./dom.js").Child} Child */

/**
 * Ask with a dialog; the focus returns to where it was.
 * @param {{ id: string, title: string, action: string }} words `action` is the label of the button that agrees
 * @param {...Child} content
 * @returns {Promise<boolean>} whether the answer is yes
 */
export function agreed({ id, title, action }, ...content) {
  const cancel = h("button", { type: "button", class: "quiet" }, "Cancel");
  const dialog = /** @type {HTMLDialogElement} */ (h("dialog", { id: `${id}-dialog`, "aria-labelledby": `${id}-title` },
    h("form", { method: "dialog" },
      h("h2", { id: `${id}-title` }, title),
      ...content,
      h("p", { class: "actions" }, cancel, h("button", { value: "yes", type: "submit", class: "primary" }, action)))));
  cancel.addEventListener("click", () => dialog.close(""));
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    }, { once: true });
  });
}
