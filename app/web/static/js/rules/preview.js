/** Preview: the list for a cart with the rules beside the list without them, and what each rule costs. */

import { admin, askAsAdmin, hasKey } from "../admin.js";
import { Problem } from "../api.js";
import { byId, h } from "../dom.js";
import { nameOf, percent } from "../format.js";
import { ItemChooser } from "../item_chooser.js";
import { loadNames, remember } from "../names.js";
import { Panel, note } from "../panel.js";
import { effectWords, movedWords } from "./effects.js";

const COUNT = 10;

/** Shows POST /rules/preview. */
export class Preview {
  /**
   * @param {() => { draft: any, replaces: string | undefined }} draft the rule in the form, if any
   */
  constructor(draft) {
    this.draft = draft;
    this.chooser = new ItemChooser("Items in the cart");
    this.chooser.addEventListener("change", () => this.refresh());
    this.hint = h("p", { class: "soft small", id: "preview-hint" });
    byId("preview").append(h("p", { class: "legend" }, "Items in the cart"), this.chooser.root, this.hint);
    this.panel = new Panel(byId("preview"), { delay: 250, lines: 4 });
    admin.addEventListener("key", () => this.refresh());
  }

  recover() {
    this.panel.recover();
  }

  refresh() {
    if (!hasKey()) {
      this.hint.textContent = "";
      this.panel.load(async () => {}, () => this.panel.show(note("The preview needs the admin key.")));
      return;
    }
    const { draft, replaces } = this.draft();
    this.hint.textContent = draft ? "With the rule in the form." : "With the rules that are on now.";
    const body = { items: this.chooser.ids, k: COUNT, ...(draft ? { draft, ...(replaces ? { draft_replaces: replaces } : {}) } : {}) };
    const call = { method: "POST", path: "/rules/preview", body };
    this.panel.showRequest({ ...call, adminKey: "" });
    this.panel.load(async (signal) => {
      const answer = await askAsAdmin({ ...call, signal }).catch((error) => {
        if (draft && error instanceof Problem && error.status === 422) return { wrong: error.errors };
        throw error;
      });
      if (!answer || answer.wrong) return answer;
      remember([...answer.items, ...answer.without_rules]);
      await loadNames(answer.effects.flatMap((/** @type {any} */ effect) => [...effect.entered, ...effect.left]));
      return answer;
    }, (answer) => answer && this.show(answer, draft ? replaces ?? "draft" : null));
  }

  /** @param {any} answer @param {string | null} draftId the id of the rule in the form */
  show(answer, draftId) {
    if (answer.wrong) {
      this.panel.show(note(`The rule in the form is not ready: ${answer.wrong.map((/** @type {any} */ wrong) => wrong.message).join("; ")}.`));
      return;
    }
    const names = new Map(answer.effects.map((/** @type {any} */ effect) => [effect.rule_id, effect.name]));
    const acting = answer.effects.filter((/** @type {any} */ effect) => effect.applies);
    this.panel.show(
      h("div", { class: "stack" },
        this.chance(answer),
        h("div", { class: "lists" },
          list("With the rules", answer.items, (item) => [movedMark(item), ...item.rules.map((/** @type {string} */ id) => h("span", { class: "mark quiet" }, names.get(id) ?? id))]),
          list("Without rules", answer.without_rules, () => [])),
        h("div", {}, h("h3", {}, "What each rule changes"),
          answer.effects.length
            ? h("ul", { class: "effects" }, [...acting, ...answer.effects.filter((/** @type {any} */ effect) => !effect.applies)].map((effect) => h("li", { "data-effect": effect.rule_id },
              h("b", {}, effect.name), effect.rule_id === draftId ? h("span", { class: "soft" }, " (in the form)") : null,
              effectWords(effect).map((words) => h("p", { class: "small" }, words)))))
            : h("p", { class: "soft small" }, "No rule is on now."))));
  }

  /** @param {any} answer */
  chance({ probability, probability_without_rules: without }) {
    if (probability === null || without === null) return h("p", { class: "small" }, "This model gives no probabilities, so the cost of the rules is not known.");
    return h("p", { class: "small", id: "chance" }, "Chance that the next item is in the list: ",
      h("b", { class: "number" }, percent(probability)), " with the rules, ", h("b", { class: "number" }, percent(without)), " without.");
  }
}

/** @param {any} item */
function movedMark(item) {
  const words = movedWords(item);
  return words && h("span", { class: "mark moved" }, words);
}

/**
 * @param {string} title
 * @param {any[]} items
 * @param {(item: any) => import("../dom.js").Child[]} marks
 */
function list(title, items, marks) {
  return h("section", { "aria-label": title }, h("h3", {}, title),
    h("ol", { class: "ranks" }, items.map((item) => h("li", { "data-item": item.item_id },
      h("span", { class: "soft number" }, item.rank),
      h("span", {}, nameOf(item), h("span", { class: "marks" }, marks(item))),
      h("span", { class: "soft number small" }, item.probability === null ? "" : percent(item.probability))))));
}
