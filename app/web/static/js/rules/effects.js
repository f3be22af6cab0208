/** Words for what rules change. */

import { count, plural } from "../format.js";
import { nameById } from "../names.js";

const LEAST = 0.0005; // a smaller cost is shown as none

/**
 * Where an item of the list was without rules; null if it has not moved.
 * @param {{ rank: number, rank_without_rules: number | null }} item
 */
export function movedWords({ rank, rank_without_rules: before }) {
  if (before === null) return "was not in the list";
  if (before === rank) return null;
  return `${before > rank ? "↑" : "↓"} was ${before}`;
}

/**
 * What a rule costs in probability.
 * @param {number | null} cost
 */
function costWords(cost) {
  if (cost === null) return "Its cost is not known.";
  if (Math.abs(cost) < LEAST) return "It does not change the chance that the next item is in the list.";
  const points = Number((100 * Math.abs(cost)).toFixed(1));
  return `It ${cost > 0 ? "lowers" : "raises"} the chance that the next item is in the list by ${count(points)} ${points === 1 ? "point" : "points"}.`;
}

/** @param {string[]} ids @param {string} words */
const listed = (ids, words) => (ids.length ? `${words} ${ids.map(nameById).join(", ")}.` : null);

/**
 * @param {{ applies: boolean, entered: string[], left: string[], moved: string[], cost: number | null }} effect
 * @returns {string[]}
 */
export function effectWords({ applies, entered, left, moved, cost }) {
  if (!applies) return ["It does not apply to this cart."];
  const changes = [listed(entered, "Comes in:"), listed(left, "Goes out:"), moved.length ? `${plural(moved.length, "item moves", "items move")}.` : null];
  const words = changes.filter((change) => change !== null).join(" ");
  return words ? [words, costWords(cost)] : ["It changes nothing in this list."];
}
