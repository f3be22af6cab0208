/** Request rate and latency, read from /metrics every few seconds. */

import { isAbort, open } from "../api.js";
import { lineChart } from "../charts.js";
import { byId, h } from "../dom.js";
import { count, duration } from "../format.js";
import { Panel, note } from "../panel.js";
import { parse, quantile, since, sum, trafficByRoute } from "./prometheus.js";

const PERIOD = 2000;
const KEPT = 60;
const CALL = { path: "/metrics" };
// Polled by this page and by monitoring: not traffic of the shop.
const IGNORED = /^\w+ (\/metrics|\/readyz|\/healthz|\/static\/.*|unmatched)$/;

/** @typedef {{ at: number, rate: number, median: number | null, p95: number | null }} Moment */

/** Charts of rate and latency, and a table of routes, from the same samples. */
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
      this.update(trafficByRoute(parse(await response.text())), performance.now() / 1000);
    } catch (error) {
      if (!isAbort(error)) this.before = undefined; // the service was unreachable: a rate over this time would be wrong
    }
    setTimeout(() => this.start(), PERIOD);
  }

  /** @param {Map<string, import("./prometheus.js").Traffic>} all @param {number} now */
  update(all, now) {
    const routes = new Map([...all].filter(([route]) => !IGNORED.test(route)));
    const total = sum(routes.values());
    if (this.before) {
      const passed = since(total, this.before.total);
      const rate = passed.count / (now - this.before.now);
      this.moments.push({ at: now, rate, median: quantile(passed, 0.5), p95: quantile(passed, 0.95) });
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
      label: `Requests per second, now ${latest.rate.toFixed(1)}`, x: "seconds from now", y: "requests per second", xRange, fromZero: true,
      series: [{ name: "rate", points: line((moment) => moment.rate) }],
    }));
    const median = line((moment) => moment.median && moment.median * 1000);
    if (!median.length) {
      this.latency.show(note("No requests since this page was opened. Use the shop to see latencies here."));
      return;
    }
    this.latency.show(lineChart({
      label: "Latency, median and 95th percentile", x: "seconds from now", y: "milliseconds", xRange, fromZero: true,
      series: [{ name: "median", points: median }, { name: "95th pct.", points: line((moment) => moment.p95 && moment.p95 * 1000) }],
    }));
  }

  /** @param {Map<string, import("./prometheus.js").Traffic>} routes */
  table(routes) {
    const busiest = [...routes].sort(([, a], [, b]) => b.count - a.count).slice(0, 7);
    if (!busiest.length) {
      this.routes.show(note("No requests yet."));
      return;
    }
    const heads = ["Route", "Requests", "p95", "Errors"].map((name, index) => h("th", { scope: "col", class: index ? "figure" : "" }, name));
    this.routes.show(h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Requests by route" },
      h("table", {}, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, busiest.map(([route, traffic]) => h("tr", {},
        h("td", {}, h("code", {}, route)),
        h("td", { class: "figure" }, count(traffic.count)),
        h("td", { class: "figure" }, duration(quantile(traffic, 0.95) ?? 0)),
        h("td", { class: "figure" }, count(traffic.errors))))))));
  }
}
