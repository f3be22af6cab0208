/** List of rules in the order in which they apply, each with a switch. */

import { admin, askAsAdmin, hasKey, requestKey } from "../admin.js";
import { announce, byId, h } from "../dom.js";
import { date } from "../format.js";
import { loadNames } from "../names.js";
import { Panel, note } from "../panel.js";
import { idsIn, sentence } from "./sentence.js";

const CALL = { path: "/rules" };

/** @param {any} rule */
function dates({ when: { starts_at: starts, ends_at: ends } }) {
  const parts = [starts && `from ${date(starts)}`, ends && `until ${date(ends)}`].filter(Boolean);
  return parts.length ? ` · ${parts.join(" ")}` : "";
}

/**
 * The state of a rule in a word.
 * @param {any} rule
 */
function state(rule) {
  if (rule.problem) return ["no effect", "bad"];
  if (!rule.enabled) return ["off", ""];
  return rule.active ? ["active", "good"] : ["not now", ""];
}

/**
 * The problem as a sentence.
 * @param {string} problem
 */
const problemWords = (problem) => `${problem[0].toUpperCase()}${problem.slice(1)}.`;

/** Shows GET /rules; dispatches `rules` when they are other ones. */
export class RuleList extends EventTarget {
  /** @param {(rule: any) => void} edit */
  constructor(edit) {
    super();
    this.edit = edit;
    /** @type {any[]} */
    this.rules = [];
    this.message = h("div", {});
    byId("rules").append(this.message);
    this.panel = new Panel(byId("rules"), { delay: 0, lines: 3 });
    this.panel.showRequest({ ...CALL, adminKey: "" });
    admin.addEventListener("key", () => this.refresh());
  }

  recover() {
    this.refresh();
  }

  refresh() {
    if (!hasKey()) {
      const button = h("button", { type: "button", onclick: requestKey }, "Enter the admin key");
      this.panel.load(async () => {}, () => this.panel.show(note(h("p", {}, "Rules need the admin key."), button)));
      return;
    }
    this.panel.load(async () => {
      const answer = await askAsAdmin(CALL);
      if (answer) await loadNames(idsIn(answer));
      return answer;
    }, (answer) => answer && this.set(answer.rules));
  }

  /** @param {any[]} rules */
  set(rules) {
    this.rules = [...rules].sort((a, b) => b.priority - a.priority || (a.rule_id < b.rule_id ? -1 : 1));
    this.draw();
    this.dispatchEvent(new Event("rules"));
  }

  /** @param {any} rule a new or changed one */
  put(rule) {
    this.set([...this.rules.filter((other) => other.rule_id !== rule.rule_id), rule]);
  }

  /** @param {any} rule */
  remove(rule) {
    this.set(this.rules.filter((other) => other.rule_id !== rule.rule_id));
  }

  draw() {
    this.panel.show(this.rules.length
      ? h("ol", { class: "entries rules" }, this.rules.map((rule) => this.row(rule)))
      : note("No rules yet. Without rules the order is that of the model and of the boosts of items."));
  }

  /** @param {any} rule */
  row(rule) {
    const [word, kind] = state(rule);
    const control = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", role: "switch", "aria-label": `${rule.name} is on`, checked: rule.enabled }));
    control.addEventListener("change", () => this.toggle(rule, control));
    return h("li", { "data-rule": rule.rule_id },
      h("div", { class: "entry" },
        h("h2", {}, rule.name, " ", h("span", { class: `mark state ${kind}` }, word)),
        h("p", {}, sentence(rule)),
        h("p", { class: "soft small" }, h("code", {}, rule.rule_id), ` · priority ${rule.priority}`, dates(rule)),
        rule.problem ? h("p", { class: "wrong small" }, problemWords(rule.problem)) : null),
      h("label", { class: "switch small" }, control, h("span", {}, rule.enabled ? "On" : "Off")),
      h("button", { type: "button", "aria-label": `Change ${rule.name}`, onclick: () => this.edit(rule) }, "Change"));
  }

  /** @param {any} rule @param {HTMLInputElement} control */
  async toggle(rule, control) {
    const { rule_id: ruleId, active, problem, ...body } = rule;
    control.disabled = true;
    this.message.replaceChildren();
    try {
      const saved = await askAsAdmin({ method: "PUT", path: `/rules/${ruleId}`, body: { ...body, enabled: control.checked } });
      if (saved) {
        announce(`The rule ${rule.name} is ${saved.enabled ? "on" : "off"}.`);
        this.put(saved);
        this.focus(ruleId, "input");
        return;
      }
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      this.message.replaceChildren(h("p", { class: "note bad" }, message));
      announce(message);
    }
    control.disabled = false;
    control.checked = rule.enabled;
  }

  /** @param {string} ruleId @param {string} part */
  focus(ruleId, part) {
    const rows = /** @type {HTMLElement[]} */ ([...this.panel.content.querySelectorAll("[data-rule]")]);
    /** @type {HTMLElement | null | undefined} */ (rows.find((row) => row.dataset.rule === ruleId)?.querySelector(part))?.focus();
  }
}
