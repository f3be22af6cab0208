/** Versions in the model store: activate, roll back, delete, open the report. */

import { ask } from "../api.js";
import { announce, byId, h } from "../dom.js";
import { date } from "../format.js";
import { Panel, note } from "../panel.js";
import { askAsAdmin } from "../admin.js";

/** @type {Record<string, string>} */
const STATES = { in_use: "in use", loading: "loading", refused: "refused", stored: "stored" };
const CALL = { path: "/models" };

/** Shows GET /models. */
export class VersionsPanel {
  constructor() {
    this.message = h("div", {});
    byId("versions").append(this.message);
    this.panel = new Panel(byId("versions"), { lines: 3 });
    this.panel.showRequest(CALL);
  }

  recover() {
    this.panel.recover();
  }

  refresh() {
    this.panel.load((signal) => ask({ ...CALL, signal }), (answer) => this.show(answer));
  }

  /** @param {{ in_use: string | null, models: any[] }} answer */
  show({ in_use: inUse, models }) {
    if (!models.length) {
      this.panel.show(note("The model store is empty. A training job publishes the first version."));
      return;
    }
    const heads = ["Version", "Trained", "State", "Report", ""].map((name) => h("th", { scope: "col" }, name || h("span", { class: "hidden" }, "Actions")));
    this.panel.show(h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Model versions" }, h("table", {},
      h("thead", {}, h("tr", {}, heads)),
      h("tbody", {}, models.map((model) => this.row(model, inUse))))));
  }

  /** @param {any} model @param {string | null} inUse */
  row(model, inUse) {
    const { version, status } = model;
    const older = inUse !== null && version < inUse;
    const path = `/models/${version}`;
    const actions = status === "in_use" || status === "loading" ? [] : [
      h("button", { type: "button", "aria-label": `${older ? "Roll back to" : "Activate"} ${version}`, onclick: () => this.activate(version, `${path}/activate`) }, older ? "Roll back" : "Activate"),
      h("button", { type: "button", class: "quiet", "aria-label": `Delete ${version}`, onclick: (/** @type {Event} */ event) => this.confirmDelete(event, version, path) }, "Delete"),
    ];
    return h("tr", { "data-version": version },
      h("td", {}, h("code", {}, version)),
      h("td", { class: "number" }, date(model.created_at)),
      h("td", {}, h("span", { class: "state", "data-state": status, title: model.refused_because ?? "" }, STATES[status] ?? status)),
      h("td", {}, model.has_report ? h("a", { href: `${path}/report.html`, target: "_blank", rel: "noopener", "aria-label": `Report of ${version}` }, "Report") : h("span", { class: "soft" }, "none")),
      h("td", {}, h("div", { class: "row" }, actions)));
  }

  /** @param {string} version @param {string} path */
  activate(version, path) {
    return this.act({ method: "POST", path }, `${version} is now active.`);
  }

  /**
   * The first click asks for confirmation, the second one deletes.
   * @param {Event} event
   * @param {string} version
   * @param {string} path
   */
  confirmDelete(event, version, path) {
    const button = /** @type {HTMLButtonElement} */ (event.currentTarget);
    if (button.dataset.sure) {
      this.act({ method: "DELETE", path }, `${version} was deleted.`);
      return;
    }
    button.dataset.sure = "yes";
    button.textContent = "Confirm delete";
    button.setAttribute("aria-label", `Confirm: delete ${version}`);
  }

  /** @param {import("../api.js").Call} call @param {string} done */
  async act(call, done) {
    try {
      if ((await askAsAdmin(call)) === undefined) return;
      this.message.replaceChildren();
      this.panel.showRequest({ ...call, adminKey: "" });
      announce(done);
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      this.message.replaceChildren(h("p", { class: "note bad" }, message));
      announce(message);
    }
    this.refresh();
  }
}
