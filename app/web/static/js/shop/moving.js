/** Animates a list to a new order, unless the user prefers reduced motion. */

const REDUCED_MOTION = matchMedia("(prefers-reduced-motion: reduce)");
const MOVE = { duration: 320, easing: "cubic-bezier(0.2, 0.7, 0.2, 1)" };

/**
 * Show the elements in this order; each slides from the old position of its key.
 * @param {HTMLElement} list
 * @param {[string, HTMLElement][]} entries
 */
export function movingTo(list, entries) {
  const before = new Map();
  for (const child of /** @type {Iterable<HTMLElement>} */ (list.children)) {
    before.set(child.dataset.key, child.getBoundingClientRect().top);
  }
  const focused = /** @type {HTMLElement | null} */ (document.activeElement?.closest("[data-key]") ?? null);
  const kind = document.activeElement?.localName === "summary" ? "summary" : "button";
  const kept = focused && list.contains(focused) ? focused.dataset.key : undefined;
  for (const [key, element] of entries) element.dataset.key = key;
  list.replaceChildren(...entries.map(([, element]) => element));
  for (const [key, element] of entries) {
    if (key === kept) /** @type {HTMLElement | null} */ (element.querySelector(kind))?.focus();
    if (!REDUCED_MOTION.matches) slide(element, before.get(key));
  }
}

/**
 * @param {HTMLElement} element
 * @param {number | undefined} top its old position; undefined if it is new
 */
function slide(element, top) {
  if (top === undefined) {
    element.animate([{ opacity: 0 }, { opacity: 1 }], MOVE);
    return;
  }
  const distance = top - element.getBoundingClientRect().top;
  if (distance) element.animate([{ transform: `translateY(${distance}px)` }, { transform: "none" }], MOVE);
}
