/** Axis ticks and scales. */

/**
 * About `count` round numbers that cover a range.
 * @param {number} low
 * @param {number} high
 * @param {number} count
 */
export function ticks(low, high, count) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.max(first + 1, Math.ceil(high / step - 1e-9));
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/**
 * Labels of the ticks, with as many decimals as needed to distinguish them.
 * @param {number[]} values
 */
export function tickLabels(values) {
  const decimals = Math.max(0, -Math.floor(Math.log10(values[1] - values[0]) + 1e-9));
  return values.map((value) => value.toFixed(decimals).replace(/^-/, "−"));
}

/**
 * A linear scale from values to positions.
 * @param {[number, number]} values
 * @param {[number, number]} positions
 * @returns {(value: number) => number}
 */
export function scale([low, high], [from, to]) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}
