/** Request rate and latency, read from /metrics every few seconds. */

import { isAbort, open } from "../api.js";
import { lineChart } from "../charts.js";
import { byId, h } from "../dom.js";
import { count, duration } from "../format.js";
import { Panel, note } from "../panel.js";
import { parse, quantile, since, together, trafficByRoute } from "./prometheus.js";

const PERIOD = 2000;
const KEPT = 60;
const CALL = { path: "/metrics" };
// What this page itself asks for again and again says nothing about the shop.
const OURS = /^\w+ (\/metrics|\/readyz|\/healthz|\/static\/.*|unmatched)$/;

/** @typedef {{ at: number, rate: number, half: number | null, most: number | null }} Moment */

/** Two charts and a table over the same samples. */
export class TrafficPanels {
  constructor() {
    this.rate = new Panel(byId("rate"), { lines: 3 });
    this.latency = new Panel(byId("latency"), { lines: 3 });
    this.routes = new Panel(byId("routes"), { lines: 4 });
    /** @type {Moment[]} */
    this.moments = [];
    for (const panel of [this.rate, this.latency, this.routes]) panel.showRequest(CALL);
  }

  async start() {
    try {
      const response = await open(CALL);
      this.take(trafficByRoute(parse(await response.text())), performance.now() / 1000);
    } catch (error) {
      if (!isAbort(error)) this.before = undefined; // the time without answers is no time without requests
    }
    setTimeout(() => this.start(), PERIOD);
  }

  /** @param {Map<string, import("./prometheus.js").Traffic>} all @param {number} now */
  take(all, now) {
    const routes = new Map([...all].filter(([route]) => !OURS.test(route)));
    const total = together(routes.values());
    if (this.before) {
      const passed = since(total, this.before.total);
      const rate = passed.count / (now - this.before.now);
      this.moments.push({ at: now, rate, half: quantile(passed, 0.5), most: quantile(passed, 0.95) });
      this.moments = this.moments.slice(-KEPT);
    }
    this.before = { total, now };
    this.draw(now);
    this.table(routes);
  }

  /** @param {number} now */
  draw(now) {
    if (this.moments.length < 2) return;
    const xRange = /** @type {[number, number]} */ ([Math.min(-20, this.moments[0].at - now), 0]);
    const latest = /** @type {Moment} */ (this.moments.at(-1));
    /** @param {(moment: Moment) => number | null} value @returns {[number, number][]} */
    const line = (value) => this.moments.flatMap((moment) => {
      const found = value(moment);
      return found === null ? [] : [/** @type {[number, number]} */ ([moment.at - now, found])];
    });
    this.rate.show(lineChart({
      label: `Requests a second, now ${latest.rate.toFixed(1)}`, x: "seconds from now", y: "requests a second", xRange, fromZero: true,
      series: [{ name: "rate", points: line((moment) => moment.rate) }],
    }));
    const half = line((moment) => moment.half && moment.half * 1000);
    if (!half.length) {
      this.latency.show(note("No request since this page was opened. Use the shop, and its times appear here."));
      return;
    }
    this.latency.show(lineChart({
      label: "Time to answer, median and 95th percentile", x: "seconds from now", y: "milliseconds", xRange, fromZero: true,
      series: [{ name: "median", points: half }, { name: "95 %", points: line((moment) => moment.most && moment.most * 1000) }],
    }));
  }

  /** @param {Map<string, import("./prometheus.js").Traffic>} routes */
  table(routes) {
    const busiest = [...routes].sort(([, a], [, b]) => b.count - a.count).slice(0, 7);
    if (!busiest.length) {
      this.routes.show(note("No requests yet."));
      return;
    }
    const heads = ["Route", "Requests", "95 %", "Errors"].map((name, index) => h("th", { scope: "col", class: index ? "figure" : "" }, name));
    this.routes.show(h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Requests by route" },
      h("table", {}, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, busiest.map(([route, traffic]) => h("tr", {},
        h("td", {}, h("code", {}, route)),
        h("td", { class: "figure" }, count(traffic.count)),
        h("td", { class: "figure" }, duration(quantile(traffic, 0.95) ?? 0)),
        h("td", { class: "figure" }, count(traffic.errors))))))));
  }
}
