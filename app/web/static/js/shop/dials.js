/** Two dials that change the order of suggestions and bundles; the centre is what fits the baskets best. */

import { byId, h } from "../dom.js";

/** @typedef {import("./state.js").Dials} Values */
/** @typedef {keyof Values} Name */

/** @type {{ name: Name, label: string, low: string, high: string }[]} */
const DIALS = [
  { name: "discovery", label: "Discovery", low: "bestsellers", high: "hidden gems" },
  { name: "cohesion", label: "Cohesion", low: "each item by itself", high: "the cart as one set" },
];

/** Sliders from −1 to 1 that begin at the centre. */
export class Dials {
  /** @param {import("./state.js").Shop} shop */
  constructor(shop) {
    this.shop = shop;
    /** @type {Map<Name, { input: HTMLInputElement, output: HTMLElement }>} */
    this.sliders = new Map();
    this.reset = /** @type {HTMLButtonElement} */ (h("button", { type: "button", class: "quiet", disabled: true, onclick: () => this.centre() }, "Back to the centre"));
    byId("dials").append(...DIALS.map((dial) => this.slider(dial)), this.reset);
  }

  /** @param {typeof DIALS[number]} dial */
  slider({ name, label, low, high }) {
    const input = /** @type {HTMLInputElement} */ (h("input", { id: `dial-${name}`, type: "range", min: -1, max: 1, step: 0.1, value: 0, "aria-describedby": `about-${name}` }));
    const output = h("output", { for: input.id, class: "soft number" }, "centre");
    this.sliders.set(name, { input, output });
    input.addEventListener("input", () => this.turn());
    return h("div", { class: "dial" },
      h("label", { for: input.id }, label, output),
      input,
      h("p", { id: `about-${name}` }, h("span", {}, low), h("span", { class: "hidden" }, " to "), h("span", {}, high)));
  }

  /** Only what is off the centre goes into the requests. */
  turn() {
    /** @type {Partial<Values>} */
    const turned = {};
    for (const [name, { input, output }] of this.sliders) {
      const value = Number(input.value);
      if (value) turned[name] = value;
      output.textContent = value ? `${value > 0 ? "+" : "−"}${Math.abs(value)}` : "centre";
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
