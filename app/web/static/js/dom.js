/** Creates elements. Data is only inserted as text or as an attribute, so it can never become markup. */

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, unknown>} Properties `on…` adds a listener; true sets an empty attribute; false, null and undefined set none. */

/**
 * @param {Element} element
 * @param {Properties} properties
 * @param {(Child | Child[])[]} children
 */
function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  for (const child of children.flat()) {
    if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== false) element.append(String(child));
  }
}

/**
 * An HTML element.
 * @param {string} tag
 * @param {Properties} [properties]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  fill(element, properties, children);
  return element;
}

/**
 * An SVG element.
 * @param {string} tag
 * @param {Properties} [properties]
 * @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
export function s(tag, properties = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  fill(element, properties, children);
  return element;
}

/**
 * The element with this id; throws if there is none.
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element #${id}`);
  return element;
}

const KEPT_ANNOUNCEMENTS = 4;

/**
 * Announce a change to screen readers.
 * @param {string} sentence
 */
export function announce(sentence) {
  const news = byId("news");
  if (news.lastElementChild?.textContent === sentence) return;
  news.append(h("p", {}, sentence));
  if (news.childElementCount > KEPT_ANNOUNCEMENTS) news.firstElementChild?.remove();
}
