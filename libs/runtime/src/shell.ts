import { randomBytes } from 'node:crypto';
import type { Clock, KubeApi, Leadership, Log, Metrics } from '@dovetail/core-ports';
import { offsetClock, systemClock } from './clock.js';
import { serveHealth } from './health.js';
import { leaseLeadership } from './lease.js';
import { createLog, type LogLevel } from './log.js';
import { createMetrics, type MetricDefinition } from './metrics.js';
import { readSettings, type Setting, type SettingsOf } from './settings.js';
import { stopOnSignals } from './service.js';

/** What a service's main gets to work with. */
export type Shell<T> = {
  readonly settings: T;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly stop: AbortSignal;
  /** Serves health and metrics until `stop`. `ready`: named conditions that must all hold. */
  serve(view: { readonly ready: () => Readonly<Record<string, boolean>>; readonly debugState: () => unknown }): Promise<void>;
  leadership(kube: KubeApi): Leadership;
};

export type CommonValues = {
  readonly logLevel: LogLevel; readonly httpPort: number; readonly httpHost: string; readonly replicaName: string; readonly testClockFile: string;
};
type LeaderValues = { readonly leaseNamespace: string; readonly leaseDurationMs: number };

/** Reads the settings and makes a service's surroundings; undefined when only help was asked for (and printed). */
export function openShell<S extends Record<string, Setting<unknown>>>(
  program: { readonly name: string; readonly purpose: string },
  table: S,
  metricDefinitions: Readonly<Record<string, MetricDefinition>> = {},
): Shell<SettingsOf<S>> | undefined {
  const invocation = readSettings(program, table, { env: process.env, args: process.argv.slice(2) });
  if (invocation.kind === 'help') {
    process.stdout.write(invocation.text);
    return undefined;
  }
  const settings = invocation.settings;
  const common = settings as unknown as CommonValues & Partial<LeaderValues>;
  const log = createLog({ service: program.name, level: common.logLevel });
  const { metrics, render, contentType } = createMetrics(metricDefinitions);
  const clock = common.testClockFile === '' ? systemClock : offsetClock(common.testClockFile, (offsetMs) => log.warn('clock-offset', `the test clock is ${offsetMs} ms ahead`, { offsetMs }));
  const stop = stopOnSignals();
  return {
    settings, log, metrics, clock, stop,
    async serve(view) {
      const server = await serveHealth({ ...view, metricsText: render, metricsType: contentType }, { port: common.httpPort, host: common.httpHost, log });
      stop.addEventListener('abort', () => void server.close(), { once: true });
    },
    leadership: (kube) => leaseLeadership({
      kube, log, clock: systemClock, namespace: common.leaseNamespace ?? 'kube-system', name: `dovetail-${program.name}`,
      identity: `${common.replicaName}-${randomBytes(4).toString('hex')}`, durationMs: common.leaseDurationMs ?? 15_000,
    }),
  };
}
