import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { dashboardFiles } from '../dashboards/dashboards.js';
import { chartReadme } from './chart-readme.js';
import { customResourcesPage } from './custom-resources.js';
import { karpenterMetricsPage } from './karpenter-metrics.js';
import { knownFieldsModule } from './known-fields.js';
import { metricsPage } from './metrics.js';
import { reasonCodesPage } from './reason-codes.js';

const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');

/** The sources whose tables the services register. */
const metricTables = [
  'libs/runtime/src/shell.ts',
  'libs/services/reaper/src/observe/metrics.ts',
  ...['kit', 'console', 'launcher', 'pod-watcher', 'reaper', 'sinks', 'solver'].map(
    (service) => `libs/services/${service}/src/metrics.ts`,
  ),
];

/**
 * The pages of docs/reference, the dashboards, the README of the chart, and a module, that are
 * written from the code, by their paths.
 */
export const referencePages = (): ReadonlyMap<string, string> =>
  new Map([
    [
      'docs/reference/reason-codes.md',
      reasonCodesPage(read('libs/core/scheduling/src/reasons.ts')),
    ],
    ['docs/reference/custom-resources.md', customResourcesPage()],
    [
      'apps/cli/src/manifests/known-fields.ts',
      knownFieldsModule(read('libs/sim/kube/src/schema/builtin-schemas.ts')),
    ],
    // A chart can only read files of its own folder.
    [
      'deploy/helm/dovetail/files/dovetail.rules.yaml',
      read('deploy/prometheus/dovetail.rules.yaml'),
    ],
    ...dashboardFiles(),
    ['deploy/helm/dovetail/README.md', chartReadme(read('deploy/helm/dovetail/values.yaml'))],
    ['docs/reference/metrics.md', metricsPage(metricTables.map(read))],
    ['docs/reference/karpenter-metrics.md', karpenterMetricsPage(metricTables.map(read))],
  ]);
