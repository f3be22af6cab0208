/** Bars and a ring that show shares of a whole. */

import { s } from "./dom.js";

/**
 * A bar; hidden from screen readers because the value is shown beside it as text.
 * @param {number} share
 */
export function probabilityBar(share) {
  const width = Math.max(1, share * 100);
  return s("svg", { class: "bar", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { class: "track", width: 100, height: 6, rx: 3 }),
    s("rect", { class: "fill", width, height: 6, rx: 3 }));
}

/**
 * A stacked bar of shares that add up to 1; hidden from screen readers because the shares are listed below it as text.
 * @param {{ source: string, share: number }[]} parts
 */
export function shareBar(parts) {
  let x = 0;
  return s("svg", { class: "shares", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    parts.map(({ source, share }) => {
      const part = s("rect", { "data-source": source, x, width: Math.max(0, 100 * share - 0.6), height: 8 });
      x += 100 * share;
      return part;
    }));
}

/**
 * A ring chart with two lines of text inside.
 * @param {number} share
 * @param {string} words
 * @param {string} below
 */
export function ring(share, words, below) {
  const around = 2 * Math.PI * 45;
  return s("svg", { viewBox: "0 0 110 110", role: "img", "aria-label": `${words} ${below}` },
    s("circle", { class: "track", cx: 55, cy: 55, r: 45 }),
    s("circle", { class: "fill", cx: 55, cy: 55, r: 45, "stroke-dasharray": `${share * around} ${around}`, transform: "rotate(-90 55 55)" }),
    s("text", { x: 55, y: 55 }, words),
    s("text", { x: 55, y: 69, class: "soft" }, below));
}
