/** Form that starts a training job. */

import { announce, byId, h } from "../dom.js";
import { Panel } from "../panel.js";
import { askAsAdmin } from "../admin.js";

/** Sends POST /training-jobs. */
export class RetrainForm {
  /** @param {(job: any) => void} started */
  constructor(started) {
    this.started = started;
    this.message = h("div", { class: "all" });
    this.form = /** @type {HTMLFormElement} */ (h("form", { class: "fields" },
      h("label", {}, "Start from", h("select", { name: "init" }, h("option", { value: "" }, "unchanged"), h("option", { value: "scaled" }, "scratch"), h("option", { value: "previous" }, "active model"))),
      h("label", {}, "Activate", h("select", { name: "activate" },
        h("option", { value: "auto" }, "if not worse"), h("option", { value: "always" }, "always"), h("option", { value: "never" }, "never"))),
      h("label", {}, "Tuning", h("select", { name: "tune" },
        h("option", { value: "" }, "unchanged"), h("option", { value: "quick" }, "quick"), h("option", { value: "thorough" }, "thorough"), h("option", { value: "none" }, "none"))),
      h("label", {}, "Steps", h("input", { type: "number", name: "steps", min: 1, max: 10000000, placeholder: "unchanged" })),
      h("label", {}, "Seed", h("input", { type: "number", name: "seed", min: 0, max: 2147483647, placeholder: "unchanged" })),
      h("label", {}, "Rank", h("input", { type: "number", name: "rank", min: 1, max: 10000, placeholder: "unchanged" })),
      h("label", {}, "Skew rank", h("input", { type: "number", name: "skew_rank", min: 2, max: 10000, step: 2, placeholder: "unchanged" })),
      h("label", { class: "check all" }, h("input", { type: "checkbox", name: "purchases", checked: true }), "Also learn from checked-out carts"),
      h("button", { type: "submit", class: "primary all" }, "Retrain"),
      this.message));
    byId("retrain").append(this.form);
    this.panel = new Panel(byId("retrain"), { lines: 0 });
    this.form.addEventListener("input", () => this.panel.showRequest({ ...this.call(), adminKey: "" }));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    this.panel.showRequest({ ...this.call(), adminKey: "" });
  }

  /** @returns {import("../api.js").Call} */
  call() {
    const fields = new FormData(this.form);
    // Omitted options are those of the active version.
    const given = (/** @type {string[]} */ names) => names.filter((name) => fields.get(name));
    const options = Object.fromEntries([
      ...given(["init", "tune"]).map((name) => [name, fields.get(name)]),
      ...given(["steps", "seed", "rank", "skew_rank"]).map((name) => [name, Number(fields.get(name))]),
    ]);
    return { method: "POST", path: "/training-jobs", body: { activate: fields.get("activate"), purchases: fields.has("purchases"), options } };
  }

  async send() {
    try {
      const job = await askAsAdmin(this.call());
      if (job === undefined) return;
      this.message.replaceChildren();
      announce("Training job queued.");
      this.started(job);
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      this.message.replaceChildren(h("p", { class: "note bad" }, message));
      announce(message);
    }
  }
}
