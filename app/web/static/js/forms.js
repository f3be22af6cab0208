/** Fields of forms, and messages beside what is wrong. */

import { announce, h } from "./dom.js";
import { plural } from "./format.js";

/** @typedef {import("./api.js").Wrong} Wrong */
/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Control */

/** Wrong input that is found before anything is sent. */
export class InputError extends Error {
  /** @param {...Wrong} errors */
  constructor(...errors) {
    super("The input is wrong.");
    this.errors = errors;
  }
}

let fields = 0;

/**
 * A control with its label, a hint, and room for a message.
 * @template {HTMLElement} C
 * @param {string} label
 * @param {C} control
 * @param {{ where?: string, hint?: string, all?: boolean }} [options] `where` is its path in the body; `all` fills the row
 */
export function field(label, control, { where, hint, all } = {}) {
  control.id ||= `field-${++fields}`;
  const wrong = `${control.id}-wrong`;
  control.setAttribute("aria-describedby", hint ? `${control.id}-hint ${wrong}` : wrong);
  return h("div", { class: all ? "field all" : "field", "data-where": where },
    h("label", { for: control.id }, label),
    control,
    hint ? h("p", { id: `${control.id}-hint`, class: "soft small" }, hint) : null,
    h("p", { id: wrong, class: "wrong small" }));
}

/** @param {Record<string, unknown>} [properties] */
export const textInput = (properties = {}) => /** @type {HTMLInputElement} */ (h("input", { type: "text", autocomplete: "off", ...properties }));

/**
 * @param {[value: string, words: string][]} options
 * @param {Record<string, unknown>} [properties]
 */
export const choice = (options, properties = {}) =>
  /** @type {HTMLSelectElement} */ (h("select", properties, options.map(([value, words]) => h("option", { value }, words))));

/**
 * The number in a control; null if it is empty. Other words are kept, so that the service can say what is wrong.
 * @param {Control} control
 */
export function numberIn(control) {
  const text = control.value.trim();
  if (text === "") return null;
  return Number.isFinite(Number(text)) ? Number(text) : text;
}

/**
 * The text in a control; null if it is empty.
 * @param {Control} control
 */
export const textIn = (control) => control.value.trim() || null;

/** @param {string} message */
const sentence = (message) => `${message.charAt(0).toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? "" : "."}`;

/** @param {string} where such as body.then.boost.factor */
const pathOf = (where) => where.replace(/^body\.?(draft\.)?/, "").replace(/^then\.(pin|boost|bury|hide|at_most)\./, "then.");

/** @param {HTMLElement} form */
export function clearWrong(form) {
  for (const place of form.querySelectorAll(".wrong")) place.textContent = "";
  for (const control of form.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
}

/**
 * Show each message beside its field, the others in `place`; the first wrong field gets the focus.
 * @param {HTMLElement} form
 * @param {HTMLElement} place
 * @param {unknown} error
 */
export function showWrong(form, place, error) {
  clearWrong(form);
  const { errors = [], message } = /** @type {{ errors?: Wrong[], message: string }} */ (error);
  const rest = errors.filter((wrong) => !showBeside(form, wrong));
  const words = errors.length > rest.length ? `Not saved: ${plural(errors.length - rest.length, "entry", "entries")} below ${errors.length - rest.length === 1 ? "is" : "are"} wrong.` : null;
  const others = rest.length ? rest.map((wrong) => sentence(wrong.message)) : words ? [] : [message];
  place.replaceChildren(h("div", { class: "note bad" }, [words, ...others].map((line) => line && h("p", {}, line))));
  announce([words, ...others].filter(Boolean).join(" "));
  /** @type {HTMLElement | null} */ (form.querySelector("[aria-invalid]"))?.focus();
}

/**
 * @param {HTMLElement} form
 * @param {Wrong} wrong
 * @returns {boolean} whether there is such a field
 */
function showBeside(form, wrong) {
  const path = pathOf(wrong.where);
  const boxes = /** @type {HTMLElement[]} */ ([...form.querySelectorAll("[data-where]")]);
  const box = boxes
    .filter(({ dataset: { where = "" } }) => path === where || path.startsWith(`${where}.`))
    .sort((a, b) => (b.dataset.where ?? "").length - (a.dataset.where ?? "").length)[0];
  const messages = box?.querySelectorAll(".wrong");
  const last = messages?.[messages.length - 1];
  if (!last) return false;
  last.textContent = [last.textContent, sentence(wrong.message)].filter(Boolean).join(" ");
  const controls = [".choice :is(input, select, textarea)", "input, select, textarea"].map((selector) => box.querySelector(selector));
  controls.find(Boolean)?.setAttribute("aria-invalid", "true");
  return true;
}
