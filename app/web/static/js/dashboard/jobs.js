/** Training jobs; queued and running jobs are followed live. */

import { Problem, isAbort } from "../api.js";
import { announce, byId, h } from "../dom.js";
import { Panel, note } from "../panel.js";
import { admin, askAsAdmin, hasKey, requestKey, withKey } from "../admin.js";
import { follow } from "./events.js";
import { JobView } from "./job_view.js";

const ENDED = ["succeeded", "failed", "cancelled", "rejected"];
const SHOWN = 5;
const CALL = { path: "/training-jobs" };
const RETRY = 2000;

/** Shows GET /training-jobs and the events of each job; dispatches `published` when a job ends. */
export class JobsPanel extends EventTarget {
  constructor() {
    super();
    this.panel = new Panel(byId("jobs"), { delay: 0, lines: 2 });
    this.list = h("ul", {});
    /** @type {Map<string, JobView>} */
    this.views = new Map();
    admin.addEventListener("key", () => this.refresh());
  }

  recover() {
    this.refresh();
  }

  refresh() {
    this.panel.showRequest({ ...CALL, adminKey: "" });
    if (!hasKey()) {
      this.views.forEach((view) => view.stop());
      this.views.clear();
      const button = h("button", { type: "button", onclick: requestKey }, "Enter the admin key");
      this.panel.load(async () => {}, () => this.panel.show(note(h("p", {}, "Training jobs need the admin key."), button)));
      return;
    }
    this.panel.load(() => askAsAdmin(CALL), (answer) => this.show(answer));
  }

  /** @param {{ jobs: any[], worker_alive: boolean } | undefined} answer */
  show(answer) {
    if (!answer) return;
    for (const job of answer.jobs.slice(0, SHOWN)) this.view(job);
    this.draw();
    if (!answer.worker_alive) {
      this.panel.content.prepend(h("p", { class: "soft small" }, "No worker is running. Jobs stay queued until one is started with ", h("code", {}, "python -m app worker"), "."));
    }
  }

  draw() {
    const views = [...this.views.values()].sort((a, b) => (a.job.job_id < b.job.job_id ? 1 : -1)).slice(0, SHOWN);
    this.list.replaceChildren(...views.map((view) => view.root));
    this.panel.show(views.length ? this.list : note("No training jobs yet. Start one with the Retrain form."));
  }

  /** @param {any} job a job that was just started */
  begin(job) {
    this.view(job);
    this.draw();
    this.panel.showRequest({ path: `/training-jobs/${job.job_id}/events`, adminKey: "" });
  }

  /** @param {any} job */
  view(job) {
    const known = this.views.get(job.job_id);
    if (known) return;
    const view = new JobView(job, () => this.cancel(job.job_id));
    this.views.set(job.job_id, view);
    this.follow(view, "0-0");
  }

  /**
   * Follow a job from its first event, so that the curve is complete; a broken stream is resumed after the last event.
   * @param {JobView} view
   * @param {string} after
   */
  async follow(view, after) {
    const wasOpen = !ENDED.includes(view.job.state);
    let last = after;
    try {
      const path = `/training-jobs/${view.job.job_id}/events`;
      for await (const event of follow(withKey({ path, signal: view.signal }), after)) {
        last = event.id || last;
        view.update(JSON.parse(event.data));
      }
    } catch (error) {
      if (isAbort(error) || error instanceof Problem) return;
    }
    if (view.signal.aborted) return;
    if (!ENDED.includes(view.job.state)) setTimeout(() => this.follow(view, last), RETRY);
    else if (wasOpen) this.ended(view.job);
  }

  /** @param {any} job */
  ended(job) {
    announce(`Training job ${job.state}${job.activated ? ", and its model is active" : ""}.`);
    this.dispatchEvent(new Event("published"));
  }

  /** @param {string} jobId */
  async cancel(jobId) {
    try {
      await askAsAdmin({ method: "POST", path: `/training-jobs/${jobId}/cancel` });
    } catch (error) {
      announce(/** @type {Error} */ (error).message);
      this.views.get(jobId)?.showError(/** @type {Error} */ (error).message);
    }
  }
}
