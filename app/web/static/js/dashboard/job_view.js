/** One training job: state, progress and training curve. */

import { lineChart } from "../charts.js";
import { h } from "../dom.js";
import { count, date, duration, figure } from "../format.js";

/** @typedef {Record<string, any>} Job the answer of GET /training-jobs/{id} */

/** @type {Record<string, string>} */
const PHASES = {
  draining: "collecting checked-out carts",
  reading: "reading baskets",
  fitting: "fitting",
  tuning: "tuning",
  publishing: "publishing",
  comparing: "comparing with the active model",
  activating: "activating",
};

/** Redrawn with every event of the job. */
export class JobView {
  /** @param {Job} job @param {() => void} cancel */
  constructor(job, cancel) {
    this.job = job;
    this.controller = new AbortController();
    /** @type {[number, number][]} step and the best validation log-likelihood */
    this.curve = [];
    this.facts = h("div", { class: "stack" });
    this.chart = h("div", {});
    this.error = h("p", { class: "small" });
    this.button = h("button", { type: "button", "aria-label": `Cancel job ${job.job_id}`, onclick: cancel }, "Cancel");
    this.root = h("li", { class: "job", "data-job": job.job_id }, h("div", { class: "stack" }, this.facts, this.error, h("div", {}, this.button)), this.chart);
    this.draw();
  }

  get signal() {
    return this.controller.signal;
  }

  stop() {
    this.controller.abort();
  }

  /** @param {Job} job */
  update(job) {
    this.job = job;
    const { step, validation_log_likelihood: value } = job;
    const last = this.curve.at(-1);
    if (step !== null && value !== null && (!last || step > last[0])) this.curve.push([step, value]);
    this.draw();
  }

  /** @param {string} message */
  showError(message) {
    this.error.textContent = message;
  }

  draw() {
    const { job } = this;
    const open = job.state === "queued" || job.state === "running";
    this.button.hidden = !open;
    this.facts.replaceChildren(
      h("div", { class: "row" }, h("h3", {}, h("code", {}, job.job_id)), h("span", { class: "state", "data-state": job.state }, job.state)),
      open ? this.progress() : this.outcome());
    if (!this.curve.length) {
      this.chart.replaceChildren(h("p", { class: "soft small" }, open ? "The training curve appears after the first evaluation." : "This job has no training curve."));
      return;
    }
    const last = /** @type {[number, number]} */ (this.curve.at(-1));
    this.chart.replaceChildren(lineChart({
      label: `Validation log-likelihood ${figure(last[1])} at step ${last[0]}`,
      x: "step", y: "best validation log-likelihood", xRange: [0, open ? job.steps : last[0]],
      series: [{ name: "validation", points: this.curve }],
    }));
  }

  progress() {
    const { job } = this;
    const done = job.phase === "fitting" && job.steps ? job.step / job.steps : null;
    const words = job.state === "queued" ? (job.note ?? "waiting for a worker") : (PHASES[job.phase] ?? "starting");
    const left = job.phase === "fitting" && job.seconds_left !== null ? `, at most ${duration(job.seconds_left)} left` : "";
    const step = job.steps ? `, step ${count(job.step)} of ${count(job.steps)}` : "";
    return h("div", {},
      h("p", { class: "small" }, `${words}${step}${left}`),
      h("progress", { max: 1, ...(done === null ? {} : { value: done }), "aria-label": `Progress of job ${job.job_id}` }));
  }

  outcome() {
    const { job } = this;
    const facts = [
      ["Ended", date(job.ended_at)],
      ["Version", job.version && `${job.version}${job.activated ? ", activated" : ""}`],
      ["Learned from", job.baskets && `${count(job.baskets)} baskets, ${count(job.items)} items`],
      ["Validation", job.validation_log_likelihood !== null && figure(job.validation_log_likelihood)],
      ["Comparison", job.gate && `${job.gate.metric} ${figure(job.gate.candidate)} against ${figure(job.gate.rival_figure ?? job.gate.active)} of ${job.gate.rival ?? "the active model"}`],
      ["Reason", job.error],
      ["Note", job.note],
    ].filter(([, value]) => value);
    return h("dl", { class: "facts" }, facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  }
}
