/** Times of rules: the API has UTC, the form the local time of the browser. */

/**
 * The value of a local date field.
 * @param {string | null} [time]
 */
export function localTime(time) {
  if (!time) return "";
  const at = new Date(time);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/**
 * The time of a local date field for the API; null if the field is empty.
 * @param {string} value
 * @param {string | null} [stored] kept if the field still shows it: the field has no seconds
 */
export function timeIn(value, stored) {
  if (stored && value === localTime(stored)) return stored;
  return value ? new Date(value).toISOString() : null;
}
