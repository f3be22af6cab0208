/** Two dials that change the order of recommendations and bundles; at 0 the order is that of the model. */

import { byId, h } from "../dom.js";

/** @typedef {import("./state.js").Dials} Values */
/** @typedef {keyof Values} Name */

/** @type {{ name: Name, label: string, low: string, high: string }[]} */
const DIALS = [
  { name: "discovery", label: "Discovery", low: "bestsellers", high: "hidden gems" },
  { name: "cohesion", label: "Cohesion", low: "each item by itself", high: "the cart as one set" },
];

/** Sliders from −1 to 1, initially 0. */
export class Dials {
  /** @param {import("./state.js").Shop} shop */
  constructor(shop) {
    this.shop = shop;
    /** @type {Map<Name, { input: HTMLInputElement, output: HTMLElement }>} */
    this.sliders = new Map();
    this.reset = /** @type {HTMLButtonElement} */ (h("button", { type: "button", class: "quiet", disabled: true, onclick: () => this.centre() }, "Reset"));
    byId("dials").append(...DIALS.map((dial) => this.slider(dial)), this.reset);
  }

  /** @param {typeof DIALS[number]} dial */
  slider({ name, label, low, high }) {
    const input = /** @type {HTMLInputElement} */ (h("input", { id: `dial-${name}`, type: "range", min: -1, max: 1, step: 0.1, value: 0, "aria-describedby": `about-${name}` }));
    const output = h("output", { for: input.id, class: "soft number" }, "0");
    this.sliders.set(name, { input, output });
    input.addEventListener("input", () => this.turn());
    return h("div", { class: "dial" },
      h("label", { for: input.id }, label, output),
      input,
      h("p", { id: `about-${name}` }, h("span", {}, low), h("span", { class: "hidden" }, " to "), h("span", {}, high)));
  }

  /** Apply the sliders; those at 0 are left out of the requests. */
  turn() {
    /** @type {Partial<Values>} */
    const turned = {};
    for (const [name, { input, output }] of this.sliders) {
      const value = Number(input.value);
      if (value) turned[name] = value;
      output.textContent = value ? `${value > 0 ? "+" : "−"}${Math.abs(value)}` : "0";
    }
    this.reset.disabled = Object.keys(turned).length === 0;
    this.shop.turnDials(turned);
  }

  centre() {
    for (const { input } of this.sliders.values()) input.value = "0";
    this.sliders.get(DIALS[0].name)?.input.focus();
    this.turn();
  }
}
