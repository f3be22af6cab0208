/** Explains a recommendation: a summary, and when opened the share of each source. */

import { h } from "../dom.js";
import { ago, nameOf, percent, plural } from "../format.js";
import { shareBar } from "../meter.js";

/**
 * @typedef {object} Reason
 * @property {"cart_item" | "similar_baskets" | "habit" | "own"} source
 * @property {string | null} item_id
 * @property {string | null} name
 * @property {number} share
 * @property {number | null} times_bought
 * @property {number | null} last_bought_days
 */

const SECOND = 0.5; // the summary names a second cart item if its share is at least this fraction of the first one's
const NAMED = 0.03; // cart items with smaller shares are combined into one line
const LEAST = 0.005; // smaller shares are not listed
const WORDS = { similar_baskets: "baskets like this one", habit: "bought anyway" };

/** @param {Reason} reason */
const named = (reason) => nameOf({ item_id: reason.item_id ?? "", name: reason.name });

/** @param {Reason} reason of the source `own` */
function bought({ times_bought: times, last_bought_days: days }) {
  const last = days === null ? "" : `, ${times === 1 ? "" : "last "}${ago(days)}`;
  return `you bought it ${times === 1 ? "once" : plural(times ?? 0, "time")}${last}`;
}

/** @param {Reason} reason */
function words(reason) {
  if (reason.source === "cart_item") return ["goes with ", h("b", {}, named(reason))];
  return [reason.source === "own" ? bought(reason) : WORDS[reason.source]];
}

/** @param {Reason[]} reasons */
const sum = (reasons) => reasons.reduce((total, reason) => total + reason.share, 0);

/**
 * The summary: the source with the largest share. All cart items together count as one source.
 * @param {Reason[]} reasons largest share first
 */
function lead(reasons) {
  const items = reasons.filter((reason) => reason.source === "cart_item");
  const other = reasons.find((reason) => reason.source !== "cart_item");
  if (other && other.share > sum(items)) return words(other);
  const [first, second] = items;
  const both = second && second.share >= SECOND * first.share;
  return [...words(first), ...(both ? [" and ", h("b", {}, named(second))] : [])];
}

/**
 * The lines of the list; small shares of cart items are combined.
 * @param {Reason[]} reasons
 * @returns {{ source: string, share: number, words: import("../dom.js").Child[] }[]}
 */
function listed(reasons) {
  const rest = reasons.filter((reason) => reason.source === "cart_item" && reason.share < NAMED);
  const lines = reasons.filter((reason) => !rest.includes(reason)).map((reason) => ({ ...reason, words: words(reason) }));
  const others = { source: "cart_item", share: sum(rest), words: ["goes with other items in the cart"] };
  return [...lines, others].filter((line) => line.share >= LEAST);
}

/**
 * The summary, which opens to a bar and a list of sources if there are several.
 * @param {Reason[]} reasons largest share first
 * @param {boolean} open
 * @param {(open: boolean) => void} onToggle
 */
export function because(reasons, open, onToggle) {
  const lines = listed(reasons);
  if (lines.length < 2) return h("p", { class: "because" }, ...(lines.length ? lead(reasons) : ["popular"]));
  const details = /** @type {HTMLDetailsElement} */ (h("details", { class: "because", open },
    h("summary", {}, ...lead(reasons)),
    shareBar(lines),
    h("ul", {}, lines.map((line) => h("li", { "data-source": line.source },
      h("span", {}, ...line.words),
      h("span", { class: "number" }, percent(line.share)))))));
  details.addEventListener("toggle", () => onToggle(details.open));
  return details;
}
