/** Line and bar charts as SVG, with axes and labels. */

import { s } from "./dom.js";
import { figure } from "./format.js";
import { scale, tickLabels, ticks } from "./scales.js";

const WIDTH = 420;
const HEIGHT = 210;
const EDGE = { top: 26, right: 14, bottom: 40, left: 52 };

/** @typedef {{ name: string, points: [number, number][] }} Series */
/**
 * @typedef {object} LineChart
 * @property {string} label description for screen readers
 * @property {string} x title of the horizontal axis
 * @property {string} y title of the vertical axis
 * @property {Series[]} series at most two
 * @property {[number, number]} [xRange]
 * @property {boolean} [fromZero]
 */

/**
 * A line chart.
 * @param {LineChart} chart
 */
export function lineChart({ label, x, y, series, xRange, fromZero = false }) {
  const points = series.flatMap((one) => one.points);
  const values = points.map(([, value]) => value);
  const yTicks = ticks(fromZero ? 0 : Math.min(...values), Math.max(...values, fromZero ? 1e-9 : -Infinity), 4);
  const xTicks = ticks(xRange?.[0] ?? Math.min(...points.map(([at]) => at)), xRange?.[1] ?? Math.max(...points.map(([at]) => at)), 5);
  const across = scale([xTicks[0], /** @type {number} */ (xTicks.at(-1))], [EDGE.left, WIDTH - EDGE.right]);
  const down = scale([yTicks[0], /** @type {number} */ (yTicks.at(-1))], [HEIGHT - EDGE.bottom, EDGE.top]);
  const [xLabels, yLabels] = [tickLabels(xTicks), tickLabels(yTicks)];
  return s("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    yTicks.flatMap((value, index) => [
      s("line", { class: "grid", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: down(value), y2: down(value) }),
      s("text", { x: EDGE.left - 8, y: down(value) + 4, "text-anchor": "end" }, yLabels[index]),
    ]),
    xTicks.map((value, index) => s("text", { x: across(value), y: HEIGHT - EDGE.bottom + 16, "text-anchor": "middle" }, xLabels[index])),
    s("line", { class: "axis", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: HEIGHT - EDGE.bottom, y2: HEIGHT - EDGE.bottom }),
    s("text", { class: "title", x: 0, y: 12 }, y),
    s("text", { class: "title", x: WIDTH - EDGE.right, y: HEIGHT - 6, "text-anchor": "end" }, x),
    series.length > 1 ? legend(series) : null,
    series.flatMap(({ points: line }, index) => drawn(line, index, across, down)));
}

/**
 * @param {[number, number][]} line
 * @param {number} index
 * @param {(value: number) => number} across
 * @param {(value: number) => number} down
 */
function drawn(line, index, across, down) {
  const last = line.at(-1);
  if (!last) return [];
  const path = line.map(([at, value], step) => `${step ? "L" : "M"}${across(at).toFixed(1)} ${down(value).toFixed(1)}`).join("");
  return [
    s("path", { class: `series series-${index}`, d: path }),
    s("circle", { class: `dot-${index}`, cx: across(last[0]), cy: down(last[1]), r: 3.5 }),
  ];
}

/** @param {Series[]} series */
function legend(series) {
  return s("g", {}, series.flatMap(({ name }, index) => {
    const left = WIDTH - EDGE.right - (series.length - index) * 84;
    return [
      s("line", { class: `series series-${index}`, x1: left, x2: left + 22, y1: 8, y2: 8 }),
      s("text", { x: left + 28, y: 12 }, name),
    ];
  }));
}

/** @typedef {{ name: string, value: number, interval?: [number, number], ours: boolean }} Bar */

/**
 * A horizontal bar chart; bars with `ours` are highlighted.
 * @param {{ label: string, x: string, bars: Bar[] }} chart
 */
export function barChart({ label, x, bars }) {
  const left = 96;
  const row = 30;
  const height = bars.length * row + 44;
  const most = Math.max(...bars.map((bar) => bar.interval?.[1] ?? bar.value), 1e-9);
  const xTicks = ticks(0, most, 5);
  const across = scale([0, /** @type {number} */ (xTicks.at(-1))], [left, WIDTH - 48]);
  const bottom = bars.length * row + 6;
  const xLabels = tickLabels(xTicks);
  return s("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": label },
    xTicks.flatMap((value, index) => [
      s("line", { class: "grid", x1: across(value), x2: across(value), y1: 0, y2: bottom }),
      s("text", { x: across(value), y: bottom + 16, "text-anchor": "middle" }, xLabels[index]),
    ]),
    s("line", { class: "axis", x1: left, x2: left, y1: 0, y2: bottom }),
    bars.flatMap((bar, index) => barRow(bar, index * row + 4, left, across)),
    s("text", { class: "title", x: WIDTH - 48, y: height - 4, "text-anchor": "end" }, x));
}

/**
 * @param {Bar} bar
 * @param {number} top
 * @param {number} left
 * @param {(value: number) => number} across
 */
function barRow(bar, top, left, across) {
  const [low, high] = bar.interval ?? [bar.value, bar.value];
  return [
    s("text", { class: bar.ours ? "title" : "", x: left - 8, y: top + 15, "text-anchor": "end" }, bar.name),
    s("rect", { class: bar.ours ? "bar-0" : "bar-1", x: left, y: top, width: Math.max(0, across(bar.value) - left), height: 22, rx: 3 }),
    s("line", { class: "whisker", x1: across(low), x2: across(high), y1: top + 11, y2: top + 11 }),
    s("text", { class: "value", x: across(high) + 6, y: top + 15 }, figure(bar.value)),
  ];
}
