/** The picture of an item in a box of fixed size; a drawing if there is none or it cannot be loaded. */

import { h } from "./dom.js";
import { glyph, hueOf } from "./glyphs.js";

/** @typedef {{ item_id: string, name?: string | null, category?: string | null, image_url?: string | null }} Pictured */

/**
 * The box is hidden from screen readers because the name of the item stands beside it.
 * @param {Pictured} item
 */
export function picture(item) {
  const box = h("span", { class: "picture", "aria-hidden": "true" });
  const hue = hueOf(item.category ?? null);
  if (hue !== null) {
    box.classList.add("tinted");
    box.style.setProperty("--hue", String(hue));
  }
  if (!item.image_url) {
    box.append(glyph(item));
    return box;
  }
  const image = h("img", { alt: "", loading: "lazy", decoding: "async" });
  image.addEventListener("error", () => box.replaceChildren(glyph(item)), { once: true });
  image.setAttribute("src", item.image_url); // after the listener: an address may fail at once
  box.append(image);
  return box;
}
