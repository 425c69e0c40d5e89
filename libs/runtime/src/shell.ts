import { randomBytes } from 'node:crypto';
import type { Clock, KubeApi, Leadership, Log, Metrics } from '@dovetail/core-ports';
import { tellingCauses } from './cause-events.js';
import { offsetClock, systemClock } from './clock.js';
import { serveHealth } from './health.js';
import { namedFailures, type NamedKube } from './kube-failures.js';
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
  /** The same API; what keeps the service from it is named in the log, and counted. */
  watched(kube: KubeApi): NamedKube;
  /** The log, with Events about the service's Lease for causes that are no Kubernetes object's fault. The service needs the right to create Events. */
  telling(kube: KubeApi): Log;
};

export type CommonValues = {
  readonly logLevel: LogLevel; readonly httpPort: number; readonly httpHost: string; readonly replicaName: string; readonly testClockFile: string;
};
type LeaderValues = { readonly leaseNamespace: string; readonly leaseDurationMs: number };

/** Every service may write these, whoever counts them. */
export const sharedMetrics: Readonly<Record<string, MetricDefinition>> = {
  dovetail_kubernetes_failures_total: { help: 'Calls to the Kubernetes API that were refused or not answered, by the name of what was logged' },
  dovetail_nats_failures_total: { help: 'Failures of the connection to NATS, by the name of what was logged' },
};

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
  const { metrics, render, contentType } = createMetrics({ ...sharedMetrics, ...metricDefinitions });
  const clock = common.testClockFile === '' ? systemClock : offsetClock(common.testClockFile, (offsetMs) => log.warn('clock-offset', `the test clock is ${offsetMs} ms ahead`, { offsetMs }));
  const stop = stopOnSignals();
  const lease = { namespace: common.leaseNamespace ?? 'kube-system', lease: `dovetail-${program.name}` };
  return {
    settings, log, metrics, clock, stop,
    async serve(view) {
      const server = await serveHealth({ ...view, metricsText: render, metricsType: contentType }, { port: common.httpPort, host: common.httpHost, log });
      stop.addEventListener('abort', () => void server.close(), { once: true });
    },
    watched: (kube) => namedFailures(kube, { log, metrics, clock: systemClock }),
    telling: (kube) => tellingCauses(log, { kube, clock: systemClock, stop, ...lease, service: program.name }),
    leadership: (kube) => leaseLeadership({
      kube, log, clock: systemClock, namespace: lease.namespace, name: lease.lease,
      identity: `${common.replicaName}-${randomBytes(4).toString('hex')}`, durationMs: common.leaseDurationMs ?? 15_000,
    }),
  };
}
