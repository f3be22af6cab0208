/** The three knobs of serving: each slider is a parameter of the request. */

import { ask } from "../api.js";
import { byId, h } from "../dom.js";

/** @typedef {"relevance" | "popularity" | "decoupling"} Name */

/** @type {{ name: Name, label: string, symbol: string, min: number, max: number, help: string }[]} */
const KNOBS = [
  { name: "relevance", label: "Relevance", symbol: "β", min: 0, max: 4, help: "How much plain co-purchase counts add to the set model." },
  { name: "popularity", label: "Popularity", symbol: "γ", min: -1, max: 1, help: "Right plays best-sellers down, left plays them up." },
  { name: "decoupling", label: "Decoupling", symbol: "ω", min: 0, max: 1, help: "0 reads the cart as one set, 1 takes each item by itself." },
];

/** Sliders that begin where the model was trained to stand. */
export class Knobs {
  /** @param {import("./state.js").Shop} shop */
  constructor(shop) {
    this.shop = shop;
    /** @type {Map<Name, { input: HTMLInputElement, output: HTMLElement }>} */
    this.sliders = new Map();
    this.reset = h("button", { type: "button", class: "quiet", disabled: true, onclick: () => this.toModel() }, "As the model was trained");
    byId("knobs").append(...KNOBS.map((knob) => this.slider(knob)), this.reset);
  }

  async start() {
    const model = await ask({ path: "/models/active" }).catch(() => null);
    this.own = model?.knobs;
    if (!this.own) return;
    for (const { name, max } of KNOBS) {
      const { input } = this.slot(name);
      input.max = String(Math.max(max, this.own[name]));
      if (this.shop.knobs[name] === undefined) input.value = this.own[name];
      this.label(name);
    }
  }

  recover() {
    if (!this.own) this.start();
  }

  /** @param {Name} name */
  slot(name) {
    return /** @type {{ input: HTMLInputElement, output: HTMLElement }} */ (this.sliders.get(name));
  }

  /** @param {typeof KNOBS[number]} knob */
  slider({ name, label, symbol, min, max, help }) {
    const input = /** @type {HTMLInputElement} */ (h("input", { id: `knob-${name}`, type: "range", min, max, step: 0.05, value: 0, "aria-describedby": `about-${name}` }));
    const output = h("output", { for: `knob-${name}`, class: "number" }, "0");
    this.sliders.set(name, { input, output });
    input.addEventListener("input", () => this.turn());
    return h("div", { class: "knob" },
      h("label", { for: `knob-${name}` }, h("span", {}, `${label} `, h("span", { class: "soft" }, symbol)), output),
      input,
      h("p", { id: `about-${name}` }, help));
  }

  /** @param {Name} name */
  label(name) {
    const { input, output } = this.slot(name);
    output.textContent = String(Number(input.value));
  }

  turn() {
    for (const { name } of KNOBS) this.label(name);
    const turned = KNOBS.map(({ name }) => /** @type {const} */ ([name, Number(this.slot(name).input.value)]))
      .filter(([name, value]) => value !== (this.own?.[name] ?? 0));
    /** @type {HTMLButtonElement} */ (this.reset).disabled = turned.length === 0;
    this.shop.turnKnobs(Object.fromEntries(turned));
  }

  toModel() {
    for (const { name } of KNOBS) this.slot(name).input.value = String(this.own?.[name] ?? 0);
    this.slot(KNOBS[0].name).input.focus();
    this.turn();
  }
}
