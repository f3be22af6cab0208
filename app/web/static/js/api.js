/** Calls to the public API, and the same calls as curl commands. */

/**
 * @typedef {object} Call
 * @property {string} path
 * @property {string} [method]
 * @property {Record<string, string | number | boolean | null | undefined>} [query] null, undefined and empty values are not sent
 * @property {unknown} [body]
 * @property {string} [adminKey] sent, but not shown in the curl command
 * @property {AbortSignal} [signal]
 */

/** @typedef {{ where: string, message: string }} Wrong a wrong part of a request */

/** An error answered by the service. */
export class Problem extends Error {
  /**
   * @param {number} status
   * @param {{ title?: string, detail?: string, errors?: Wrong[] }} document
   */
  constructor(status, document) {
    super(document.detail || document.title || `The service answered ${status}.`);
    this.status = status;
    this.errors = document.errors ?? [];
  }
}

/** The service cannot be reached. */
export class Offline extends Error {
  constructor() {
    super("The service cannot be reached. Retrying automatically.");
  }
}

/**
 * Whether the request was aborted because a newer one replaced it.
 * @param {unknown} error
 */
export const isAbort = (error) => error instanceof DOMException && error.name === "AbortError";

/** Dispatches `reached` after each answer and `lost` after each failed connection. */
export const connection = new EventTarget();

/** @param {Call} call */
function address(call) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== null && value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return text ? `${call.path}?${text}` : call.path;
}

/**
 * Send a request; throws Problem or Offline.
 * @param {Call} call
 * @param {Record<string, string>} [headers]
 */
export async function open(call, headers = {}) {
  const sent = { ...headers };
  if (call.body !== undefined) sent["Content-Type"] = "application/json";
  if (call.adminKey !== undefined) sent["X-Admin-Key"] = call.adminKey;
  let response;
  try {
    response = await fetch(address(call), {
      method: call.method ?? "GET",
      headers: sent,
      body: call.body === undefined ? undefined : JSON.stringify(call.body),
      signal: call.signal,
    });
  } catch (error) {
    if (isAbort(error)) throw error;
    connection.dispatchEvent(new Event("lost"));
    throw new Offline();
  }
  connection.dispatchEvent(new Event("reached"));
  if (response.ok) return response;
  throw new Problem(response.status, await response.json().catch(() => ({})));
}

/**
 * Send a request and parse the JSON of the answer; null if there is no content.
 * @param {Call} call
 * @returns {Promise<any>}
 */
export async function ask(call) {
  const response = await open(call);
  return response.status === 204 ? null : response.json();
}

/**
 * The path of an item; its id may contain any character.
 * @param {string} itemId
 */
export const itemPath = (itemId) => `/items/${encodeURIComponent(itemId)}`;

/** @param {string} text */
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * The request as a curl command.
 * @param {Call} call
 */
export function curl(call) {
  const words = ["curl"];
  if (call.method && call.method !== "GET") words.push("-X", call.method);
  if (call.adminKey !== undefined) words.push("-H", '"X-Admin-Key: $TRIPOD_ADMIN_KEY"');
  if (call.body !== undefined) {
    words.push("-H", quoted("Content-Type: application/json"), "-d", quoted(JSON.stringify(call.body)));
  }
  return [...words, quoted(new URL(address(call), location.href).href)].join(" ");
}
