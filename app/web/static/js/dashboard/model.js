/** The active model: its properties, and its quality compared with baselines. */

import { ask } from "../api.js";
import { barChart } from "../charts.js";
import { byId, h } from "../dom.js";
import { count, date, figure, percent } from "../format.js";
import { Panel, note } from "../panel.js";

const METRIC = "hit@10";
/** @type {Record<string, string>} */
const METRICS = { validation_log_likelihood: "Validation", test_log_likelihood: "Test" };
/** @type {Record<string, string>} */
const NAMES = { tripod: "Tripod", popularity: "Popularity", item_knn: "Item-KNN", confidence: "Confidence", ease: "EASE-R", als: "ALS", blend: "Blend without determinant" };

/**
 * Calibration on unseen carts; null for versions without it.
 * @param {any} calibration
 */
function calibrationText(calibration) {
  if (!calibration?.next_item) return null;
  const { first, first_ten: ten, queries } = calibration.next_item;
  const share = (/** @type {number} */ value) => h("b", { class: "number" }, percent(value));
  return h("p", { class: "small", id: "truth" },
    `Calibration on ${count(queries)} unseen carts: the first recommendation was the next item in `, share(first.true), " of them (predicted: ", share(first.claimed),
    "), and the first ten contained it in ", share(ten.true), " (predicted: ", share(ten.claimed), ").");
}

/** Shows GET /models/active and the version's report. */
export class ModelPanel {
  constructor() {
    this.panel = new Panel(byId("model"), { delay: 0, lines: 4 });
  }

  recover() {
    this.panel.recover();
  }

  refresh() {
    this.panel.load(async (signal) => {
      const model = await ask({ path: "/models/active", signal });
      const report = { path: `/models/${model.version}/report.json` };
      this.panel.showRequest({ path: "/models/active" }, ...(model.has_report ? [report] : []));
      return { model, report: model.has_report ? await ask({ ...report, signal }) : null };
    }, ({ model, report }) => this.show(model, report));
  }

  /** @param {any} model @param {any} report null if the version has none */
  show(model, report) {
    const { knobs } = model;
    const facts = [
      ["Version", model.version],
      ["Trained", date(model.created_at)],
      ["Kernel", `${model.kind}, rank ${model.rank}`],
      ["Items", count(model.items)],
      ["Bundle parameters", `β ${figure(knobs.relevance)}, γ ${figure(knobs.popularity)}, ω ${figure(knobs.decoupling)}`],
      ...Object.entries(METRICS).filter(([name]) => name in model.metrics).map(([name, word]) => [word, `${figure(model.metrics[name])} log-likelihood per basket`]),
    ];
    this.panel.show(h("div", { class: "model" },
      h("dl", { class: "facts" }, facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
      h("div", { class: "stack" }, calibrationText(model.calibration), report ? comparison(report) : note("This version has no report. ", h("code", {}, "python -m training evaluate"), " creates one."))));
  }
}

/** @param {any} report */
function comparison(report) {
  const bars = Object.entries(report.models)
    .filter(([, figures]) => typeof figures[METRIC] === "number")
    .map(([name, figures]) => ({ name: NAMES[name] ?? name, value: figures[METRIC], interval: figures.intervals?.[METRIC], ours: name === "tripod" }));
  const queries = report.models.tripod?.queries;
  return h("figure", {},
    barChart({ label: bars.map((bar) => `${bar.name} ${figure(bar.value)}`).join(", "), x: `${METRIC}, %`, bars }),
    h("figcaption", { class: "soft small" }, `Share of queries whose held-out item is among the first ten${queries ? `, ${count(queries)} baskets` : ""}; the lines are 95 % intervals.`));
}
