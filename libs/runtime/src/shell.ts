import { randomBytes } from 'node:crypto';
import { getHeapStatistics } from 'node:v8';

import type { KubeEvent } from '@dovetail/core-kube-model';
import type {
  Clock,
  KubeApi,
  Log,
  MetricDefinitions,
  Metrics,
  ScrapedMetrics,
  Service,
  Traces,
} from '@dovetail/core-ports';

import { tellingCauses } from './cause-events.js';
import { offsetClock, systemClock } from './clock.js';
import { serveHealth } from './health.js';
import { watchHeldLoop } from './held-loop.js';
import { namedFailures, type NamedKube } from './kube-failures.js';
import { type LeaseLeadership, leaseLeadership } from './lease.js';
import { createLog, type LogLevel } from './log.js';
import { followLogLevel } from './log-level.js';
import { createMetrics, type ProcessMetrics } from './metrics.js';
import { exitOnUncaught, runMain, runToEnd, stopOnSignals } from './service.js';
import { readSettings, type Setting, type SettingsOf } from './settings.js';
import { serviceTraces, type TraceValues } from './traces/traces.js';
import { version } from './version.js';
import { createVitals, type ProcessVitals } from './vitals.js';

/** A table of settings, by the name under which the program reads each. */
export type SettingsTable = Record<string, Setting<unknown>>;

/** The tools that the main of a service gets: log, metrics, clock and connections. */
export type Shell<S extends SettingsTable> = {
  readonly settings: SettingsOf<S>;
  readonly log: Log;
  readonly metrics: Metrics & ScrapedMetrics;
  readonly clock: Clock;
  /** Watches over the turns of the loops; /healthz fails while one is hung. */
  readonly vitals: ProcessVitals;
  /** Where spans of traces go, as a part of dependencies. Empty: nothing is traced. */
  readonly tracing: { readonly traces?: Traces };
  leadership(kube: KubeApi): LeaseLeadership;
  /** The same API. Failures that keep the service from it are logged by name and counted. */
  watched(kube: KubeApi): NamedKube;
  /**
   * The log. For causes that are no Kubernetes object's fault, it also records Events about the
   * service's Lease.
   */
  telling(kube: Pick<KubeApi, 'get'>, record: (event: KubeEvent) => void): Log;
};

/** A service ready to run, and the function that closes its connections. */
export type Assembled = { readonly service: Service; readonly close: () => Promise<void> };

/** The description of a service, before its settings are known. */
export type Program<S extends SettingsTable> = {
  /** Names the Lease, the log lines and the help page. */
  readonly name: string;
  /** One clause for the help page. */
  readonly purpose: string;
  readonly settings: S;
  readonly metrics: MetricDefinitions;
};

type CommonValues = {
  readonly logLevel: LogLevel;
  readonly logLevelFile: string;
  readonly httpPort: number;
  readonly httpHost: string;
  readonly clusterName: string;
  readonly replicaName: string;
  readonly testClockFile: string;
};
type LeaderValues = { readonly leaseNamespace: string; readonly leaseDurationMs: number };

/** Every service may write these. The adapters and this library count them. */
const sharedMetrics: MetricDefinitions = {
  dovetail_build_info: {
    kind: 'gauge',
    labels: ['version'],
    help: '1, with the version of the service: two of them run side by side during an upgrade',
  },
  dovetail_event_loop_held_max_seconds: {
    kind: 'gauge',
    help: 'Most CPU time that one turn of the event loop took, since the last scrape',
  },
  dovetail_heap_used_ratio: {
    kind: 'gauge',
    help: 'Share of the most that objects may take (heapMiB) that they take now, garbage included',
  },
  dovetail_hung_loops: {
    kind: 'gauge',
    help: 'Loops with a turn that has lasted longer than any healthy one; /healthz fails above 0',
  },
  dovetail_leader: {
    kind: 'gauge',
    labels: ['lease'],
    help: '1 while this replica leads by the Lease of this name, 0 while it stands by; solvers have none',
  },
  dovetail_nats_failures_total: {
    kind: 'counter',
    labels: ['reason'],
    help: 'Failures of the connection to NATS, by the name of what was logged',
  },
};

/**
 * The main of a service. It reads the settings, assembles the service, and serves health and
 * metrics. It runs until a signal comes, then closes every connection. With `--help` it prints the
 * help page instead.
 */
export function runService<S extends SettingsTable>(
  program: Program<S>,
  assemble: (shell: Shell<S>) => Assembled,
): Promise<void> {
  const main = async (): Promise<void> => {
    const settings = settingsOf(program);
    if (settings === undefined) return;
    const stopping = stopOnSignals();
    const stop = stopping.signal;
    const common = settings as unknown as CommonValues;
    const log = createLog({ service: program.name, level: common.logLevel });
    followLogLevel(log, { file: common.logLevelFile, fallback: common.logLevel, stop });
    exitOnUncaught(log);
    const { metrics, render, contentType, resetGauges } = createMetrics({
      ...sharedMetrics,
      ...program.metrics,
    });
    metrics.set('dovetail_build_info', 1, { version });
    const vitals = createVitals({ metrics });
    const leaders = new Map<string, LeaseLeadership>();
    const metricsText = withLeaders({ leaders, metrics }, withHeldLoop(metrics, render));
    const traced = await tracesOf(program, common, log);
    const tracing = traced === undefined ? {} : { traces: traced.traces };
    const { service, close } = assemble(
      shellOf(program, settings, { log, metrics, vitals, tracing, stop, resetGauges, leaders }),
    );
    const server = await serveHealth(
      { service, vitals, metricsText, metricsType: contentType },
      { port: common.httpPort, host: common.httpHost, log },
    );
    stop.addEventListener('abort', () => void server.close(), { once: true });
    await runToEnd({ service, close, log, stopping, exit: (code) => process.exit(code) });
    // A receiver that does not answer would keep the process.
    if ((await traced?.close()) === false) process.exit(process.exitCode ?? 0);
  };
  // Connections that were opened before a failure would keep the process, deaf to signals.
  return runMain(main, (code) => process.exit(code));
}

/** The traces of a service whose settings have an endpoint for them. */
const tracesOf = (
  { name }: Pick<Program<SettingsTable>, 'name'>,
  common: CommonValues & Partial<TraceValues>,
  log: Log,
) =>
  serviceTraces(
    common,
    { service: name, instance: common.replicaName, cluster: common.clusterName },
    { log, env: process.env },
  );

type MetricsPage = ProcessMetrics['render'];

/** Renders the metrics with the longest hold of the event loop since the last one, and the heap. */
function withHeldLoop(metrics: Metrics, render: MetricsPage): MetricsPage {
  const takeHeldMs = watchHeldLoop();
  return () => {
    metrics.set('dovetail_event_loop_held_max_seconds', takeHeldMs() / 1_000);
    const heap = getHeapStatistics();
    metrics.set('dovetail_heap_used_ratio', heap.used_heap_size / heap.heap_size_limit);
    return render();
  };
}

/** The Leases that a process may lead by, by name, and where it shows whether it does. */
type Leaders = {
  readonly leaders: ReadonlyMap<string, Pick<LeaseLeadership, 'held'>>;
  readonly metrics: Pick<Metrics, 'set'>;
};

/** Renders the metrics with what the process leads at that moment. */
export const withLeaders =
  ({ leaders, metrics }: Leaders, render: MetricsPage): MetricsPage =>
  () => {
    for (const [lease, leadership] of leaders)
      metrics.set('dovetail_leader', leadership.held() ? 1 : 0, { lease });
    return render();
  };

/** Returns undefined if the user asked for help, after printing it. Throws SettingsError. */
function settingsOf<S extends SettingsTable>(program: Program<S>): SettingsOf<S> | undefined {
  const invocation = readSettings(program, program.settings, {
    env: process.env,
    args: process.argv.slice(2),
  });
  if (invocation.kind === 'run') return invocation.settings;
  process.stdout.write(invocation.text);
  return undefined;
}

function clockOf({ testClockFile }: CommonValues, log: Log): Clock {
  if (testClockFile === '') return systemClock;
  return offsetClock(testClockFile, (offsetMs) =>
    log.warn('clock-offset', `the test clock is ${offsetMs} ms ahead`, { offsetMs }),
  );
}

function shellOf<S extends SettingsTable>(
  { name: service, metrics: own }: Program<S>,
  settings: SettingsOf<S>,
  at: Pick<Shell<S>, 'log' | 'metrics' | 'vitals' | 'tracing'> &
    Pick<ProcessMetrics, 'resetGauges'> & {
      readonly stop: AbortSignal;
      readonly leaders: Map<string, LeaseLeadership>;
    },
): Shell<S> {
  const { log, metrics, stop } = at;
  const common = settings as unknown as CommonValues & Partial<LeaderValues>;
  const namespace = common.leaseNamespace ?? 'kube-system';
  const lease = `dovetail-${service}`;
  return {
    settings,
    log,
    metrics,
    clock: clockOf(common, log),
    vitals: at.vitals,
    tracing: at.tracing,
    watched: (kube) => namedFailures(kube, { log, metrics, clock: systemClock }),
    telling: (kube, record) =>
      tellingCauses(log, { kube, clock: systemClock, stop, namespace, lease, record }),
    leadership: (kube) => {
      const leadership = leaseLeadership({
        kube,
        log,
        clock: systemClock,
        monotonicMs: () => performance.now(),
        namespace,
        name: lease,
        identity: `${common.replicaName}-${randomBytes(4).toString('hex')}`,
        durationMs: common.leaseDurationMs ?? 15_000,
        onEnded: () => at.resetGauges(Object.keys(own)),
      });
      at.leaders.set(lease, leadership);
      return leadership;
    },
  };
}
