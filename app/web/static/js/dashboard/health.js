/** Readiness of the service, and what is missing if it is not ready. */

import { Offline } from "../api.js";
import { byId, h, s } from "../dom.js";
import { date } from "../format.js";
import { Panel } from "../panel.js";

const SIGNS = { ready: "M4 12l5 5L20 6", unready: "M12 4v9M12 18v1", offline: "M5 5l14 14M19 5L5 19" };
const WORDS = { ready: "Ready", unready: "Not ready", offline: "Unreachable" };

/** Shows the answer of GET /readyz. */
export class HealthPanel {
  constructor() {
    this.panel = new Panel(byId("health"), { lines: 2 });
    this.panel.showRequest({ path: "/readyz" });
  }

  /** @param {any} ready the answer or the error */
  show(ready) {
    const state = ready instanceof Offline ? "offline" : ready instanceof Error ? "unready" : "ready";
    const facts = state === "ready"
      ? [["Model", ready.model_version], ["Refused version", ready.refused_version && `${ready.refused_version}: ${ready.refused_because}`]]
      : [["Reason", ready.message]];
    facts.push(["Checked", date(new Date().toISOString())]);
    this.panel.show(h("div", { class: "stack" },
      h("p", { class: "big", "data-state": state },
        s("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: SIGNS[state] })), WORDS[state]),
      h("dl", { class: "facts" }, facts.filter(([, value]) => value).flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]))));
  }
}
