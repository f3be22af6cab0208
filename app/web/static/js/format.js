/** Formats numbers, dates and names. */

const PRICE = new Intl.NumberFormat("en", { style: "currency", currency: "USD" });
const DIFFERENCE = new Intl.NumberFormat("en", { style: "currency", currency: "USD", signDisplay: "exceptZero" });
const COUNT = new Intl.NumberFormat("en");
const DATE = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

/** @param {number | null} value */
export const price = (value) => (value === null ? "no price" : PRICE.format(value));

/** @param {number} value */
export const priceDifference = (value) => (value === 0 ? "same price" : DIFFERENCE.format(value).replace("-", "−"));

/** @param {number} value */
export const count = (value) => COUNT.format(value);

/** @param {string | null} value */
export const date = (value) => (value === null ? "unknown" : DATE.format(new Date(value)));

/**
 * A share as a percentage; below 10 % with one decimal.
 * @param {number} share
 */
export function percent(share) {
  const value = share * 100;
  if (value > 0 && value < 0.1) return "<\u00a00.1\u00a0%";
  return `${value < 10 ? value.toFixed(1) : value.toFixed(0)}\u00a0%`;
}

/**
 * A probability as "1 in 17"; null if it is 0 or above one half.
 * @param {number} probability
 */
export function oneIn(probability) {
  if (probability <= 0 || probability > 0.5) return null;
  const number = 1 / probability;
  return `1 in ${count(Number(number < 10 ? number.toFixed(1) : number.toPrecision(Math.max(2, Math.floor(Math.log10(number))))))}`;
}

/**
 * "20× as likely as usual"; null if the rounded factor is 1.
 * @param {number} times
 */
export function timesUsual(times) {
  const shown = Number(times < 10 ? times.toFixed(1) : times.toPrecision(2));
  if (shown === 1) return null;
  return shown === 0 ? "far less likely than usual" : `${count(shown)}× as likely as usual`;
}

/**
 * A number with three significant digits, four from 1,000 on.
 * @param {number} value
 */
export function figure(value) {
  const size = Math.abs(value);
  if (size !== 0 && size < 0.001) return value.toExponential(1);
  return String(Number(value.toPrecision(size >= 1000 ? 4 : 3)));
}

/**
 * A duration in milliseconds, seconds, minutes or hours, depending on its length.
 * @param {number} seconds
 */
export function duration(seconds) {
  if (seconds < 1) return `${figure(seconds * 1000)} ms`;
  if (seconds < 90) return `${figure(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${figure(seconds / 3600)} h`;
}

/**
 * A time in the past as "9 days ago".
 * @param {number} days
 */
export function ago(days) {
  if (days < 2) return days < 1 ? "today" : "yesterday";
  if (days < 61) return `${plural(days, "day")} ago`;
  return days < 730 ? `${plural(Math.round(days / 30.4), "month")} ago` : `${plural(Math.round(days / 365.25), "year")} ago`;
}

/**
 * The name of an item; its id if it has no name.
 * @param {{ item_id: string, name?: string | null }} item
 */
export const nameOf = (item) => item.name || item.item_id;

/**
 * @param {number} number
 * @param {string} one
 * @param {string} [many]
 */
export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
