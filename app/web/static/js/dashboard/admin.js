/** The admin key: requested once and kept in memory only, until the page is closed. */

import { Problem, ask } from "../api.js";
import { byId } from "../dom.js";

/** @type {string | undefined} */
let key;

/** Dispatches `key` when the key is set or removed. */
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
 * Send a request with the admin key; asks for the key if there is none, and removes a refused key.
 * @param {import("../api.js").Call} call
 * @returns {Promise<any>} undefined if no key was entered
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

/** Remove the key. */
export const dropKey = () => setKey(undefined);

/** @returns {Promise<boolean>} whether a key was entered */
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

/** Connect the button in the header. */
export function startAdmin() {
  byId("admin-cancel").addEventListener("click", () => /** @type {HTMLDialogElement} */ (byId("admin-dialog")).close(""));
  byId("admin").addEventListener("click", () => (hasKey() ? dropKey() : requestKey()));
}
