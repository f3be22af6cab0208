/** Entry point of the dashboard: connects the panels. */

import { watchStatus } from "../status.js";
import { startAdmin } from "./admin.js";
import { Explorer } from "./explorer.js";
import { HealthPanel } from "./health.js";
import { JobsPanel } from "./jobs.js";
import { ModelPanel } from "./model.js";
import { RetrainForm } from "./retrain.js";
import { TrafficPanels } from "./traffic.js";
import { VersionsPanel } from "./versions.js";

const health = new HealthPanel();
const traffic = new TrafficPanels();
const model = new ModelPanel();
const versions = new VersionsPanel();
const jobs = new JobsPanel();
const explorer = new Explorer();
const parts = [model, versions, jobs, explorer];

/** @type {string | undefined} */
let shown;
watchStatus(
  () => parts.forEach((part) => part.recover()),
  (ready) => {
    health.show(ready);
    const version = ready instanceof Error ? undefined : ready.model_version;
    if (version === undefined || version === shown) return;
    // Another model was activated, on this page or elsewhere.
    shown = version;
    model.refresh();
    versions.refresh();
    explorer.refresh();
  },
);
new RetrainForm((job) => jobs.begin(job));
jobs.addEventListener("published", () => versions.refresh());
startAdmin();
traffic.start();
versions.refresh();
jobs.refresh();
