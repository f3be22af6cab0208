/** What the form of an item sends: only what differs from the stored item. */

/** @typedef {Record<string, any>} Fields */

/** @param {unknown} one @param {unknown} other */
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/**
 * The body of PATCH /items/{item_id}. Null removes an attribute, or restores the value of the model.
 * @param {Fields} before
 * @param {Fields} now
 * @returns {Fields}
 */
export function changesOf(before, now) {
  const { attributes, ...plain } = now;
  const changes = Object.fromEntries(Object.entries(plain).filter(([name, value]) => !same(value, before[name])));
  const removed = Object.keys(before.attributes).filter((name) => !(name in attributes)).map((name) => [name, null]);
  const changed = Object.entries(attributes).filter(([name, value]) => !same(value, before.attributes[name]));
  const own = Object.fromEntries([...changed, ...removed]);
  return Object.keys(own).length ? { ...changes, attributes: own } : changes;
}

/**
 * The body of PUT /items/{item_id}.
 * @param {Fields} fields
 * @returns {Fields}
 */
export const given = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
