/** Drawings for items without a picture: a shape for common words of categories, otherwise a letter. */

import { s } from "./dom.js";

const LEVELS = " > ";
const HUES = 12;

/** @type {[RegExp, number, string][]} words, hue and drawing in a box of 24 by 24; the first match counts */
const SHAPES = [
  [/wine|alcohol|beer|spirits|liquor/, 15, "M7.5 3h9c.5 6-1 10-4.5 10S7 9 7.5 3zM12 13v8M8.5 21h7M7.4 7.5h9.2"],
  [/cheese|deli/, 90, "M3 14.5L16 6.5c3 0 5 2.5 5 5v3zM3 14.5V19h18v-4.5M9 17h.01M16 17h.01M15 11h.01"],
  [/dairy|milk|egg|yogh?urt/, 240, "M9 3h6v3.5l2 4V21H7V10.5l2-4zM9 6.5h6M7 13.5h10"],
  [/bread|baker|pastr/, 70, "M6.5 11a3.5 3.5 0 0 1 0-6h11a3.5 3.5 0 0 1 0 6v8h-11zM10 9v3M14 9v3"],
  [/fish|seafood/, 220, "M3 12c4-6 10-6 14 0-4 6-10 6-14 0zM17 12l4-4v8zM7.5 11.5h.01"],
  [/meat|poultry|butcher|sausage/, 25, "M4 14c0-6 5-10 10-10 4 0 6 3 6 6 0 6-5 10-11 10-3 0-5-3-5-6zM14 12a2 2 0 1 0 0-4 2 2 0 0 0 0 4z"],
  [/vegetable|salad|herb|garden|plant/, 145, "M5 19C4 10 10 5 20 5c0 10-5 15-15 14zM5 19c3-5 6-8 10-9.5"],
  [/fruit|produce|berr/, 45, "M12 8c-2-2-7-1-7 4 0 5 3 9 5 9 1 0 1-.5 2-.5s1 .5 2 .5c2 0 5-4 5-9 0-5-5-6-7-4zM12 8c0-2.5 1-4 3-5"],
  [/coffee|tea\b|breakfast|cereal/, 60, "M5 9h12v6a5 5 0 0 1-5 5h-2a5 5 0 0 1-5-5zM17 10.5h1.5a2.5 2.5 0 0 1 0 5H17M9 3v2.5M13 3v2.5"],
  [/drink|beverage|juice|water|soda/, 200, "M6 8h12l-1.5 13h-9zM12 8l1.5-5H17M6.5 12.5h11"],
  [/frozen|ice/, 225, "M12 3v18M4.2 7.5l15.6 9M19.8 7.5l-15.6 9M9.5 4.5L12 7l2.5-2.5M9.5 19.5L12 17l2.5 2.5"],
  [/snack|sweet|cookie|candy|chocolate|biscuit/, 330, "M12 3a9 9 0 1 0 9 9 3.5 3.5 0 0 1-4-4 3.5 3.5 0 0 1-5-5zM8.5 10h.01M9 15h.01M14.5 14.5h.01M13 10.5h.01"],
  [/baby|babies|infant|child/, 350, "M8 10.5h8V19a2 2 0 0 1-2 2h-4a2 2 0 0 1-2-2zM7.5 10.5h9M9.5 10.5c0-2 1-2.5 1.5-4C11 5 11 3 12 3s1 2 1 3.5c.5 1.5 1.5 2 1.5 4M8 15h3M8 18h3"],
  [/\bpets?\b|\bdogs?\b|\bcats?\b|animal/, 100, "M12 12c-3 0-5.5 3-5.5 5.5 0 2 1.5 3 3 2.7 1.5-.3 3.5-.3 5 0 1.5.3 3-.7 3-2.7C17.5 15 15 12 12 12zM5 11.5v-1M9 7V6M15 7V6M19 11.5v-1"],
  [/beauty|cosmetic|personal care|hair|hygiene|health/, 310, "M8 11h8v8a2 2 0 0 1-2 2h-4a2 2 0 0 1-2-2zM10 11V7.5h4V11M12 7.5V4h4"],
  [/household|clean|laundry|home|kitchen/, 180, "M4 11.5L12 4l8 7.5M6 10v10h12V10M10 20v-5.5h4V20"],
  [/grocer|supermarket|\bfood/, 80, "M4 10h16l-1.5 10h-13zM7.5 10l4-6.5M16.5 10l-4-6.5M9 13.5v3M12 13.5v3M15 13.5v3"],
  [/pantry|canned|pasta|dry goods|sauce|spice|jar|bulk/, 120, "M7 8h10v11a2 2 0 0 1-2 2H9a2 2 0 0 1-2-2zM8 4h8v4H8zM7 12h10M7 17h10"],
];

/**
 * The same number for the same text, from 0 to `many` − 1.
 * @param {string} text
 * @param {number} many
 */
function numberOf(text, many) {
  let sum = 7;
  for (const letter of text) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 1_000_003;
  return sum % many;
}

/**
 * The shape of a category; the lowest level that has one decides.
 * @param {string} category
 */
function shapeOf(category) {
  for (const level of category.toLowerCase().split(LEVELS).reverse()) {
    const found = SHAPES.find(([words]) => words.test(level));
    if (found) return found;
  }
  return undefined;
}

/**
 * The hue of a category in degrees; without a shape it is the same for all categories of a department.
 * @param {string | null} category
 */
export function hueOf(category) {
  if (!category) return null;
  const [, hue] = shapeOf(category) ?? [];
  return hue ?? (360 / HUES) * numberOf(category.split(LEVELS)[0].toLowerCase(), HUES);
}

/**
 * @param {{ item_id: string, name?: string | null, category?: string | null }} item
 * @returns {SVGElement}
 */
export function glyph(item) {
  const [, , drawing] = shapeOf(item.category ?? "") ?? [];
  const [letter] = item.category || item.name || item.item_id;
  return s("svg", { class: "glyph", viewBox: "0 0 24 24", "aria-hidden": "true", "data-shape": drawing ? "drawing" : "letter" },
    drawing ? s("path", { d: drawing }) : s("text", { x: 12, y: 12 }, letter.toUpperCase()));
}
