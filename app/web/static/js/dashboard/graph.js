/** Graph of an item between its substitutes and its complements. */

import { s } from "../dom.js";
import { figure, nameOf, plural } from "../format.js";

const WIDTH = 900;
const ROW = 46;
const BOX = { width: 290, height: 40 };
const LETTERS = 28;

/** @typedef {{ item_id: string, name: string | null, lift: number, lift_low: number, lift_high: number, together: number | null, by_chance: number }} Related */
/** @typedef {"substitute" | "complement"} Relation */

/** @param {string} text */
const short = (text) => (text.length > LETTERS ? `${text.slice(0, LETTERS - 1)}…` : text);

/**
 * Substitutes on the left with dotted edges, complements on the right with solid ones.
 * @param {{ item_id: string, name: string | null }} item
 * @param {Related[]} substitutes
 * @param {Related[]} complements
 * @param {(itemId: string) => void} pick
 */
export function relationGraph(item, substitutes, complements, pick) {
  const rows = Math.max(substitutes.length, complements.length, 1);
  const height = rows * ROW + 40;
  const middle = 36 + (rows * ROW) / 2;
  const label = `${nameOf(item)} with ${complements.length} complements and ${substitutes.length} substitutes`;
  /** @param {Related[]} others @param {Relation} relation */
  const fan = (others, relation) => others.map((other, index) => {
    const y = 36 + (rows * ROW * (index + 0.5)) / others.length;
    return { edge: edge(other, relation, middle, y), node: node(other, relation, y, pick) };
  });
  const sides = [...fan(substitutes, "substitute"), ...fan(complements, "complement")];
  return s("svg", { class: "graph", viewBox: `0 0 ${WIDTH} ${height}`, role: "group", "aria-label": label },
    s("text", { class: "side substitute", x: 0, y: 14 }, "⇄ substitutes"),
    s("text", { class: "side complement", x: WIDTH, y: 14, "text-anchor": "end" }, "+ complements"),
    substitutes.length ? null : s("text", { class: "lift", x: 0, y: middle + 4 }, "none found"),
    complements.length ? null : s("text", { class: "lift", x: WIDTH, y: middle + 4, "text-anchor": "end" }, "none found"),
    sides.map((side) => side.edge),
    sides.map((side) => side.node),
    s("g", { class: "centre" },
      s("rect", { x: WIDTH / 2 - 115, y: middle - 20, width: 230, height: 40, rx: 20 }),
      s("text", { x: WIDTH / 2, y: middle + 5 }, short(nameOf(item)))));
}

/** @param {Related} other @param {Relation} relation @param {number} middle @param {number} y */
function edge(other, relation, middle, y) {
  const sign = relation === "substitute" ? -1 : 1;
  const from = WIDTH / 2 + sign * 115;
  const to = WIDTH / 2 + sign * (WIDTH / 2 - BOX.width);
  const bend = (from + to) / 2;
  // Logarithmic: a lift of 100 would otherwise be 100 times as thick as a lift of 1.
  const width = Math.min(6, 1 + 0.7 * Math.abs(Math.log2(Math.max(other.lift, 1 / 32))));
  return s("path", { class: `edge ${relation}`, d: `M${from} ${middle}C${bend} ${middle} ${bend} ${y} ${to} ${y}`, "stroke-width": width.toFixed(1) });
}

/** @param {Related} other */
function evidence(other) {
  const counted = other.together === null ? "" : `together in ${plural(other.together, "basket")}, `;
  return `${counted}expected by chance: ${figure(other.by_chance)}`;
}

/** @param {Related} other @param {Relation} relation @param {number} y @param {(itemId: string) => void} pick */
function node(other, relation, y, pick) {
  const x = relation === "substitute" ? 0 : WIDTH - BOX.width;
  const choose = () => pick(other.item_id);
  const text = short(nameOf(other));
  const lift = `×${figure(other.lift)} (${figure(other.lift_low)}–${figure(other.lift_high)})`;
  return s("g", {
    class: "node", tabindex: 0, role: "button",
    "aria-label": `${text} ${lift}, ${relation}: explore`,
    onclick: choose,
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      choose();
    },
  },
  s("rect", { x: x + 1, y: y - BOX.height / 2, width: BOX.width - 2, height: BOX.height, rx: relation === "substitute" ? 4 : 17 }),
  s("title", {}, `${nameOf(other)}: ${evidence(other)}`),
  s("text", { x: x + 14, y: y - 2 }, text),
  s("text", { class: "lift", x: x + 14, y: y + 13 }, lift));
}
