/** Ids of new rules, made from their names. */

const LONGEST = 56; // leaves room for a number within the 64 characters of the API

/**
 * An id that no stored rule has.
 * @param {string} name
 * @param {string[]} taken
 */
export function freeId(name, taken) {
  const plain = name.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+/, "").slice(0, LONGEST).replace(/-+$/, "");
  const base = plain === "" || plain === "preview" ? `rule${plain && "-"}${plain}` : plain; // /rules/preview is a route
  let id = base;
  for (let number = 2; taken.includes(id); number += 1) id = `${base}-${number}`;
  return id;
}
