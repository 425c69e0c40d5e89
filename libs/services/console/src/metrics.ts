import type { MetricDefinitions } from '@dovetail/core-ports';
import { malformedMetrics } from '@dovetail/service-kit';

/** Every metric that the console writes. */
export const consoleMetrics: MetricDefinitions = {
  ...malformedMetrics,
  dovetail_console_pages: { kind: 'gauge', help: 'Pages that are open and get frames' },
};
