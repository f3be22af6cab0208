/** Server-sent events by fetch, because EventSource cannot send the admin key. */

import { open } from "../api.js";

/** @typedef {{ id: string, event: string, data: string }} ServerEvent */

/**
 * The events of a stream until it ends.
 * @param {import("../api.js").Call} call
 * @param {string} after id of the last event received; "0-0" starts with the first event
 * @returns {AsyncGenerator<ServerEvent>}
 */
export async function* follow(call, after) {
  const response = await open(call, { Accept: "text/event-stream", "Last-Event-ID": after });
  const reader = /** @type {ReadableStream<any>} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = parsed(block);
      if (event.data) yield event;
    }
  }
}

/** @param {string} block */
function parsed(block) {
  const event = { id: "", event: "", data: "" };
  for (const line of block.split(/\r?\n/)) {
    const found = /^(id|event|data): ?(.*)$/.exec(line);
    if (!found) continue;
    const name = /** @type {"id" | "event" | "data"} */ (found[1]);
    event[name] = name === "data" && event.data ? `${event.data}\n${found[2]}` : found[2];
  }
  return event;
}
