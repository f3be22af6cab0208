/** The admin key: requested once and kept in memory only, until the page is closed. */

import { Problem, ask } from "./api.js";
import { agreed } from "./dialog.js";
import { h } from "./dom.js";

/** @type {string | undefined} */
let key;

/** Dispatches `key` when the key is set or removed. */
export const admin = new EventTarget();

/** Whether there is a key. */
export const hasKey = () => key !== undefined;

/** @param {string | undefined} next */
function setKey(next) {
  key = next;
  admin.dispatchEvent(new Event("key"));
}

/**
 * The same call with the key.
 * @template {import("./api.js").Call} C
 * @param {C} call
 * @returns {C & { adminKey: string }}
 */
export const withKey = (call) => ({ ...call, adminKey: key ?? "" });

/**
 * Send a request with the admin key; asks for the key if there is none, and removes a refused key.
 * @param {import("./api.js").Call} call
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
export async function requestKey() {
  const input = /** @type {HTMLInputElement} */ (h("input", { id: "admin-key", type: "password", autocomplete: "off", required: true }));
  const given = await agreed({ id: "admin", title: "Admin key", action: "Use this key" },
    h("p", {}, "The value of ", h("code", {}, "TRIPOD_ADMIN_KEY"), ". It is kept in memory only, until you leave this page."),
    h("label", { for: "admin-key" }, "Key"),
    input);
  if (given) setKey(input.value);
  return given;
}
