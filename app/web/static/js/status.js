/** Status of the service in the header of all pages. */

import { Offline, ask, connection } from "./api.js";
import { byId } from "./dom.js";

const PERIOD = 4000;

/**
 * Poll /readyz; calls `reconnected` when the service becomes ready again.
 * @param {() => void} reconnected
 * @param {(ready: { status: string, model_version?: string } | Error) => void} [seen]
 */
export function watchStatus(reconnected, seen = () => {}) {
  const status = byId("status");
  const banner = byId("offline");
  /** @param {string} state @param {string} text @param {string} [alert] */
  function show(state, text, alert = "") {
    status.dataset.state = state;
    status.textContent = text;
    if (banner.textContent !== alert) banner.textContent = alert;
    banner.hidden = alert === "";
  }
  const lost = () => show("offline", "offline", "The service cannot be reached. This page shows old data; retrying every few seconds.");
  connection.addEventListener("lost", lost);

  async function look() {
    const before = status.dataset.state;
    try {
      const ready = await ask({ path: "/readyz" });
      show("ready", "ready");
      seen(ready);
      if (before === "offline" || before === "unready") reconnected();
    } catch (error) {
      if (!(error instanceof Offline)) show("unready", "not ready", /** @type {Error} */ (error).message);
      seen(/** @type {Error} */ (error));
    }
    setTimeout(look, PERIOD);
  }
  look();
}
