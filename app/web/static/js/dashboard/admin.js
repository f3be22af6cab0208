/** The admin key: asked once, kept in a variable of this module, gone with the tab. */

import { Problem, ask } from "../api.js";
import { byId } from "../dom.js";

/** @type {string | undefined} */
let key;

/** Tells of a new or dropped key as `key`. */
export const admin = new EventTarget();

/** Whether there is a key. */
export const hasKey = () => key !== undefined;

/** @param {string | undefined} next */
function setKey(next) {
  key = next;
  byId("admin").textContent = next === undefined ? "Enter the admin key" : "Forget the admin key";
  admin.dispatchEvent(new Event("key"));
}

/**
 * The same call with the key.
 * @template {import("../api.js").Call} C
 * @param {C} call
 * @returns {C & { adminKey: string }}
 */
export const withKey = (call) => ({ ...call, adminKey: key ?? "" });

/**
 * Ask as an operator: for the key first if there is none, and again if it was wrong.
 * @param {import("../api.js").Call} call
 * @returns {Promise<any>} undefined if the person would rather not
 */
export async function askAsAdmin(call) {
  if (!hasKey() && !(await requestKey())) return undefined;
  try {
    return await ask(withKey(call));
  } catch (error) {
    if (error instanceof Problem && [401, 403].includes(error.status)) setKey(undefined);
    throw error;
  }
}

/** Drop a key that the service does not take. */
export const dropKey = () => setKey(undefined);

/** @returns {Promise<boolean>} whether a key was given */
export function requestKey() {
  const dialog = /** @type {HTMLDialogElement} */ (byId("admin-dialog"));
  const input = /** @type {HTMLInputElement} */ (byId("admin-key"));
  input.value = "";
  dialog.returnValue = "";
  dialog.showModal();
  input.focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const given = dialog.returnValue === "key" && input.value !== "";
      if (given) setKey(input.value);
      input.value = "";
      resolve(given);
    }, { once: true });
  });
}

/** Make the button of the header work. */
export function startAdmin() {
  byId("admin-cancel").addEventListener("click", () => /** @type {HTMLDialogElement} */ (byId("admin-dialog")).close(""));
  byId("admin").addEventListener("click", () => (hasKey() ? dropKey() : requestKey()));
}
