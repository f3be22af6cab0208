/** The button for the admin key in the header. */

import { admin, dropKey, hasKey, requestKey } from "../admin.js";
import { byId } from "../dom.js";

/** Connect the button. */
export function startAdmin() {
  const button = byId("admin");
  button.addEventListener("click", () => (hasKey() ? dropKey() : requestKey()));
  admin.addEventListener("key", () => {
    button.textContent = hasKey() ? "Forget the admin key" : "Enter the admin key";
  });
}
