/** Parser for the request histograms in the Prometheus text format. */

/** @typedef {{ name: string, labels: Record<string, string>, value: number }} Sample */
/** @typedef {{ count: number, sum: number, errors: number, buckets: Map<number, number> }} Traffic cumulative buckets by their upper bound */

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/**
 * @param {string} text
 * @returns {Sample[]}
 */
export function parse(text) {
  return text.split("\n").flatMap((line) => {
    const found = LINE.exec(line);
    if (!found) return [];
    const labels = Object.fromEntries([...(found[2] ?? "").matchAll(LABEL)].map(([, name, value]) => [name, value]));
    return [{ name: found[1], labels, value: Number(found[3].replace("Inf", "Infinity")) }];
  });
}

/** @returns {Traffic} */
const empty = () => ({ count: 0, sum: 0, errors: 0, buckets: new Map() });

/**
 * Request histograms by route.
 * @param {Sample[]} samples
 * @returns {Map<string, Traffic>}
 */
export function trafficByRoute(samples) {
  /** @type {Map<string, Traffic>} */
  const routes = new Map();
  for (const { name, labels, value } of samples) {
    if (!name.startsWith("tripod_request_seconds")) continue;
    const key = `${labels.method} ${labels.route}`;
    const traffic = routes.get(key) ?? empty();
    routes.set(key, traffic);
    if (name.endsWith("_count")) {
      traffic.count += value;
      if (Number(labels.status) >= 500) traffic.errors += value;
    } else if (name.endsWith("_sum")) traffic.sum += value;
    else if (name.endsWith("_bucket")) {
      const bound = Number(labels.le.replace("+Inf", "Infinity"));
      traffic.buckets.set(bound, (traffic.buckets.get(bound) ?? 0) + value);
    }
  }
  return routes;
}

/**
 * The sum of several histograms.
 * @param {Iterable<Traffic>} parts
 */
export function sum(parts) {
  const total = empty();
  for (const part of parts) {
    total.count += part.count;
    total.sum += part.sum;
    total.errors += part.errors;
    for (const [bound, value] of part.buckets) total.buckets.set(bound, (total.buckets.get(bound) ?? 0) + value);
  }
  return total;
}

/**
 * The requests since an earlier sample; a restarted service counts from zero again.
 * @param {Traffic} now
 * @param {Traffic} before
 * @returns {Traffic}
 */
export function since(now, before) {
  if (now.count < before.count) return now;
  const buckets = new Map([...now.buckets].map(([bound, value]) => [bound, value - (before.buckets.get(bound) ?? 0)]));
  return { count: now.count - before.count, sum: now.sum - before.sum, errors: now.errors - before.errors, buckets };
}

/**
 * Latency quantile, interpolated within its bucket; null without requests.
 * @param {Traffic} traffic
 * @param {number} share
 */
export function quantile(traffic, share) {
  const bounds = [...traffic.buckets].sort(([a], [b]) => a - b);
  const wanted = traffic.count * share;
  let [lower, below] = [0, 0];
  for (const [bound, value] of bounds) {
    if (value >= wanted && value > below) {
      return Number.isFinite(bound) ? lower + ((wanted - below) / (value - below)) * (bound - lower) : lower;
    }
    [lower, below] = [bound, value];
  }
  return null;
}
