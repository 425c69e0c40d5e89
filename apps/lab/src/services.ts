import { randomBytes } from 'node:crypto';

import { AwsSession } from '@dovetail/adapter-aws';
import { awsAccount } from '@dovetail/adapter-aws/account';
import { createAwsCloud } from '@dovetail/adapter-aws/cloud';
import { awsInstanceStatuses } from '@dovetail/adapter-aws/instance-statuses';
import { awsInstances } from '@dovetail/adapter-aws/instances';
import { awsInterruptionQueue } from '@dovetail/adapter-aws/queue';
import { userDataRenderer } from '@dovetail/adapter-aws/user-data';
import { highsSolver, timeBoxed } from '@dovetail/adapter-highs';
import { connectKubernetes } from '@dovetail/adapter-kubernetes';
import {
  type Clock,
  type Log,
  type MetricDefinitions,
  noVitals,
  type Service,
  Stopper,
} from '@dovetail/core-ports';
import {
  awsSettings,
  commonSettings,
  createLog,
  createMetrics,
  durationMs,
  featureGatesSetting,
  keepingSettings,
  leaderSettings,
  leaseLeadership,
  offsetClock,
  oneOf,
  readSettings,
  serveHealth,
  type SettingsOf,
  stopOnSignals,
  systemClock,
  systemHash,
  systemPacking,
  text,
  wholeNumber,
} from '@dovetail/runtime';
import { createLauncher, defaultLauncherConfig, launcherMetrics } from '@dovetail/service-launcher';
import { createPodWatcher, defaultPodWatcherConfig } from '@dovetail/service-pod-watcher';
import { createReaper, defaultReaperConfig, reaperMetrics } from '@dovetail/service-reaper';
import {
  createSolver,
  defaultSolverConfig,
  inThread,
  SolverEngine,
} from '@dovetail/service-solver';
import { memoryBus, MemoryBusServer, serveBus } from '@dovetail/sim-bus';

// These services have their bus in the process. The lab's user may have NATS_URL set for something
// else, so no setting of NATS is read.
const { clusterName, httpPort, httpHost, logLevel, testClockFile } = commonSettings;

/**
 * The settings of all services in one environment. Elsewhere the lab gives each service its own.
 */
const settings = {
  clusterName,
  httpPort,
  httpHost,
  logLevel,
  testClockFile,
  ...leaderSettings,
  ...awsSettings,
  solvers: {
    env: 'SOLVERS',
    flag: 'solvers',
    help: 'The number of solvers.',
    parse: wholeNumber({ least: 1, most: 20 }),
  },
  busPort: {
    env: 'BUS_PORT',
    flag: 'bus-port',
    help: 'The port at which other processes may follow the bus.',
    parse: wholeNumber({ least: 1, most: 65_535 }),
  },
  batchIdleMs: {
    env: 'BATCH_IDLE_DURATION',
    flag: 'batch-idle-duration',
    help: 'As in pod-watcher.',
    fallback: defaultPodWatcherConfig.idleMs,
    parse: durationMs,
  },
  batchMaxMs: {
    env: 'BATCH_MAX_DURATION',
    flag: 'batch-max-duration',
    help: 'As in pod-watcher.',
    fallback: defaultPodWatcherConfig.maxMs,
    parse: durationMs,
  },
  batchOwnerIdleMs: {
    env: 'BATCH_OWNER_IDLE_DURATION',
    flag: 'batch-owner-idle-duration',
    help: 'As in pod-watcher.',
    fallback: defaultPodWatcherConfig.ownerIdleMs,
    parse: durationMs,
  },
  batchOwnerMaxMs: {
    env: 'BATCH_OWNER_MAX_DURATION',
    flag: 'batch-owner-max-duration',
    help: 'As in pod-watcher.',
    fallback: defaultPodWatcherConfig.ownerMaxMs,
    parse: durationMs,
  },
  budgetMs: {
    env: 'PLAN_BUDGET',
    flag: 'plan-budget',
    help: 'As in the solver.',
    fallback: defaultSolverConfig.budgetMs,
    parse: durationMs,
  },
  placement: {
    env: 'PLACEMENT',
    flag: 'placement',
    help: 'As in the launcher.',
    fallback: 'bind' as const,
    parse: oneOf('bind', 'scheduler'),
  },
  instanceProfile: {
    env: 'DEFAULT_INSTANCE_PROFILE',
    flag: 'default-instance-profile',
    help: 'As in the launcher.',
    parse: text,
  },
  queueName: {
    env: 'INTERRUPTION_QUEUE',
    flag: 'interruption-queue',
    help: 'As in the reaper.',
    parse: text,
  },
  featureGates: featureGatesSetting,
  ...keepingSettings,
} as const;

type Settings = SettingsOf<typeof settings>;
/** The parts that all services of the process share. */
type Shared = {
  readonly settings: Settings;
  readonly server: MemoryBusServer;
  readonly clock: Clock;
};

/**
 * Runs every service in this process over an in-process bus, for machines without a nats-server.
 * Each keeps its own log lines, metrics, Lease and port. One service cannot die alone here.
 */
export async function runServices(): Promise<void> {
  const invocation = readSettings(
    { name: 'services', purpose: 'all services in one process' },
    settings,
    { env: process.env, args: [] },
  );
  if (invocation.kind === 'help') return;
  const shared = sharedBy(invocation.settings);
  const stop = new Stopper(stopOnSignals().signal);
  const services = [
    await startPodWatcher(shared),
    ...(await Promise.all(
      Array.from({ length: shared.settings.solvers }, (_, index) =>
        startSolver(shared, `solver-${index}`),
      ),
    )),
    await startLauncher(shared),
    await startReaper(shared),
  ];
  const served = await serveBus(shared.server, { port: shared.settings.busPort });
  const ready = (): Record<string, boolean> =>
    Object.assign({}, ...services.map((service) => service.ready())) as Record<string, boolean>;
  const { render, contentType } = createMetrics();
  const debugState = () => ({ services: services.map((service) => service.debugState()) });
  const explain = (name: string) =>
    services.map((service) => service.explain?.(name)).find((answer) => answer !== undefined);
  const health = await serveHealth(
    { service: { ready, debugState, explain }, metricsText: render, metricsType: contentType },
    {
      port: shared.settings.httpPort,
      host: shared.settings.httpHost,
      log: createLog({ service: 'services', level: 'info' }),
    },
  );
  // A service that fails ends the others too, and the supervisor starts them all again.
  await Promise.all(services.map((service) => service.run(stop).finally(() => stop.abort())));
  await Promise.all([served.close(), health.close()]);
}

function sharedBy(given: Settings): Shared {
  const clock = given.testClockFile === '' ? systemClock : offsetClock(given.testClockFile);
  return { settings: given, clock, server: new MemoryBusServer(clock) };
}

/** Serves a service's health and metrics on a free port, with its name before its conditions. */
async function served(
  service: Service,
  name: string,
  pages: { readonly render: () => AsyncIterable<string>; readonly contentType: string },
  at: { readonly host: string; readonly log: Log },
): Promise<Service> {
  await serveHealth(
    { service, metricsText: pages.render, metricsType: pages.contentType },
    { port: 0, ...at },
  );
  const ready = (): Record<string, boolean> =>
    Object.fromEntries(
      Object.entries(service.ready()).map(([what, is]) => [`${name} ${what}`, is]),
    );
  return { ...service, ready };
}

/** The parts that each service has for itself: log, metrics, bus, clients, and pages. */
function surroundings(
  { settings: given, server, clock }: Shared,
  name: string,
  definitions: MetricDefinitions = {},
) {
  const log = createLog({ service: name.replace(/-\d+$/, ''), level: given.logLevel });
  const { metrics, ...pages } = createMetrics(definitions);
  const kube = connectKubernetes({ log, kubeconfigPath: given.kubeconfig });
  return {
    log,
    metrics,
    scraped: metrics,
    vitals: noVitals,
    clock,
    kube,
    bus: memoryBus(server),
    hash: systemHash,
    leadership: () =>
      leaseLeadership({
        kube,
        log,
        clock: systemClock,
        namespace: given.leaseNamespace,
        name: `dovetail-${name}`,
        identity: `${name}-${randomBytes(4).toString('hex')}`,
        durationMs: given.leaseDurationMs,
      }),
    serve: (service: Service) => served(service, name, pages, { host: given.httpHost, log }),
  };
}

function startPodWatcher(shared: Shared): Promise<Service> {
  const { clusterName, ...given } = shared.settings;
  const { kube, log, metrics, serve, leadership, ...around } = surroundings(shared, 'pod-watcher');
  const channel = {
    bus: around.bus,
    cluster: clusterName,
    hash: around.hash,
    source: 'pod-watcher',
    clock: around.clock,
  };
  // The lab starts its services only once its API server answers.
  const connection = { answered: () => true };
  const watcher = createPodWatcher(
    { kube, connection, channel, leadership: leadership(), log, metrics, vitals: noVitals },
    {
      ...defaultPodWatcherConfig,
      idleMs: given.batchIdleMs,
      maxMs: given.batchMaxMs,
      ownerIdleMs: given.batchOwnerIdleMs,
      ownerMaxMs: given.batchOwnerMaxMs,
    },
  );
  return serve(watcher);
}

function startSolver(shared: Shared, name: string): Promise<Service> {
  // It starts with the first proof, and does not keep the lab running.
  const highs = highsSolver({ background: true });
  const { clusterName, budgetMs } = shared.settings;
  const { log, metrics, serve, bus, hash, clock } = surroundings(shared, name);
  const engine = new SolverEngine({
    cluster: clusterName,
    solver: name,
    hash,
    nowMs: () => clock.nowMs(),
    prover: (msMax) => timeBoxed(highs, msMax),
    records: true,
  });
  const port = inThread(engine, systemClock);
  const channel = { bus, cluster: clusterName, hash, source: 'solver', clock };
  return serve(
    createSolver(
      { channel, engine: port, log, metrics, vitals: noVitals, packing: systemPacking },
      { ...defaultSolverConfig, budgetMs },
    ),
  );
}

function startLauncher(shared: Shared): Promise<Service> {
  const { clusterName, region, endpoint, placement, instanceProfile, consolidation } =
    shared.settings;
  const { serve, leadership, ...around } = surroundings(shared, 'launcher', launcherMetrics);
  const cloud = createAwsCloud({ region, endpoint, clock: around.clock, log: around.log });
  const launcher = createLauncher(
    { ...around, cloud, leadership: leadership(), userData: userDataRenderer },
    {
      clusterName,
      region,
      ...defaultLauncherConfig,
      placement,
      consolidates: consolidation !== 'none',
      defaultInstanceProfile: instanceProfile,
    },
  );
  return serve({
    run: (stop) => launcher.run(stop).finally(() => cloud.close()),
    ready: () => launcher.ready(),
    debugState: () => launcher.debugState(),
  });
}

function startReaper(shared: Shared): Promise<Service> {
  const { clusterName, region, endpoint, queueName, consolidation, featureGates } = shared.settings;
  const { serve, leadership, ...around } = surroundings(shared, 'reaper', reaperMetrics);
  const aws = new AwsSession({ region, endpoint, clock: around.clock, log: around.log });
  const cloud = { ...awsInstances(aws), ...awsInstanceStatuses(aws), ...awsAccount(aws) };
  const queue = awsInterruptionQueue(aws, { queueName });
  const reaper = createReaper(
    { ...around, serverClock: around.kube.serverClock, cloud, queue, leadership: leadership() },
    { clusterName, ...defaultReaperConfig, consolidation, ...featureGates?.gates },
  );
  return serve({
    run: (stop) => reaper.run(stop).finally(() => aws.close()),
    ready: () => reaper.ready(),
    debugState: () => reaper.debugState(),
    ...(reaper.explain === undefined ? {} : { explain: reaper.explain }),
  });
}
