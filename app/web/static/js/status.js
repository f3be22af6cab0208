/** Whether the service answers, in the corner of both pages. */

import { Offline, ask, connection } from "./api.js";
import { byId } from "./dom.js";

const PERIOD = 4000;

/**
 * Look at /readyz now and then; `reconnected` runs when the service is back.
 * @param {() => void} reconnected
 * @param {(ready: { status: string, model_version?: string } | Error) => void} [seen]
 */
export function watchStatus(reconnected, seen = () => {}) {
  const status = byId("status");
  const banner = byId("offline");
  /** @param {string} state @param {string} text @param {string} [alarm] */
  function show(state, text, alarm = "") {
    status.dataset.state = state;
    status.textContent = text;
    if (banner.textContent !== alarm) banner.textContent = alarm;
    banner.hidden = alarm === "";
  }
  const lost = () => show("offline", "offline", "The service cannot be reached. What you see is from before; it is tried again every few seconds.");
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
