import { randomBytes } from 'node:crypto';
import { createAwsCloud, createInterruptionQueue, userDataRenderer } from '@dovetail/adapter-aws';
import { connectKubernetes } from '@dovetail/adapter-kubernetes';
import { type Clock, Stopper, type StopSignal } from '@dovetail/core-ports';
import {
  awsSettings, commonSettings, createLog, createMetrics, durationMs, leaderSettings, leaseLeadership, type MetricDefinition, offsetClock, oneOf, readSettings, serveHealth, type SettingsOf,
  stopOnSignals, systemClock, systemHash, text, wholeNumber,
} from '@dovetail/runtime';
import { createLauncher, defaultLauncherConfig, launcherMetrics } from '@dovetail/service-launcher';
import { defaultPodWatcherConfig, podWatcher } from '@dovetail/service-pod-watcher';
import { createReaper, defaultReaperConfig, reaperMetrics } from '@dovetail/service-reaper';
import { defaultSolverConfig, inThread, runSolver, SolverEngine } from '@dovetail/service-solver';
import { memoryBus, MemoryBusServer, serveBus } from '@dovetail/sim-bus';

/** What the lab tells this process: what it tells each service elsewhere, in one environment. */
const settings = {
  ...commonSettings, ...leaderSettings, ...awsSettings,
  solvers: { env: 'SOLVERS', flag: 'solvers', help: 'How many solvers share the work.', parse: wholeNumber({ least: 1, most: 20 }) },
  busPort: { env: 'BUS_PORT', flag: 'bus-port', help: 'Where other processes may follow the bus.', parse: wholeNumber({ least: 1, most: 65_535 }) },
  batchIdleMs: { env: 'BATCH_IDLE_DURATION', flag: 'batch-idle-duration', help: 'As of pod-watcher.', fallback: defaultPodWatcherConfig.idleMs, parse: durationMs },
  batchMaxMs: { env: 'BATCH_MAX_DURATION', flag: 'batch-max-duration', help: 'As of pod-watcher.', fallback: defaultPodWatcherConfig.maxMs, parse: durationMs },
  budgetMs: { env: 'PLAN_BUDGET', flag: 'plan-budget', help: 'As of the solver.', fallback: defaultSolverConfig.budgetMs, parse: durationMs },
  placement: { env: 'PLACEMENT', flag: 'placement', help: 'As of the launcher.', fallback: 'bind' as const, parse: oneOf('bind', 'scheduler') },
  instanceProfile: { env: 'DEFAULT_INSTANCE_PROFILE', flag: 'default-instance-profile', help: 'As of the launcher.', parse: text },
  queueName: { env: 'INTERRUPTION_QUEUE', flag: 'interruption-queue', help: 'As of the reaper.', parse: text },
} as const;

type Settings = SettingsOf<typeof settings>;
type World = { readonly settings: Settings; readonly server: MemoryBusServer; readonly clock: Clock };
type Service = { run(stop: StopSignal): Promise<void>; ready(): Readonly<Record<string, boolean>>; debugState(): unknown };

/**
 * Runs every service in this process, over an in-process bus: for machines that cannot have a nats-server. Each keeps its own log
 * lines, metrics, Lease and port, as in a process of its own; what it cannot show is that one of them dies and the others go on.
 */
export async function runServices(): Promise<void> {
  const invocation = readSettings({ name: 'services', purpose: 'all services in one process' }, settings, { env: process.env, args: [] });
  if (invocation.kind === 'help') return;
  const world = worldOf(invocation.settings);
  const stop = new Stopper(stopOnSignals());
  const services = [
    await startPodWatcher(world), ...(await Promise.all(Array.from({ length: world.settings.solvers }, (_, index) => startSolver(world, `solver-${index}`, stop)))), await startLauncher(world), await startReaper(world),
  ];
  const served = await serveBus(world.server, { port: world.settings.busPort });
  const ready = (): Record<string, boolean> => Object.assign({}, ...services.map((service) => service.ready())) as Record<string, boolean>;
  const { render, contentType } = createMetrics();
  const health = await serveHealth(
    { ready, debugState: () => services.map((service) => service.debugState()), metricsText: render, metricsType: contentType },
    { port: world.settings.httpPort, host: world.settings.httpHost, log: createLog({ service: 'services', level: 'info' }) },
  );
  // One that fails takes the others along, as a process would: the supervisor starts them anew.
  await Promise.all(services.map((service) => service.run(stop).finally(() => stop.abort())));
  await Promise.all([served.close(), health.close()]);
}

function worldOf(given: Settings): World {
  const clock = given.testClockFile === '' ? systemClock : offsetClock(given.testClockFile);
  return { settings: given, clock, server: new MemoryBusServer(clock) };
}

/** What a service has for itself: log, metrics, bus, clusters' clients, and pages on a free port. */
function surroundings({ settings: given, server, clock }: World, name: string, definitions: Readonly<Record<string, MetricDefinition>> = {}) {
  const log = createLog({ service: name.replace(/-\d+$/, ''), level: given.logLevel });
  const { metrics, render, contentType } = createMetrics(definitions);
  const kube = connectKubernetes({ log, kubeconfigPath: given.kubeconfig });
  return {
    log, metrics, clock, kube, bus: memoryBus(server), hash: systemHash,
    leadership: () => leaseLeadership({
      kube, log, clock: systemClock, namespace: given.leaseNamespace, name: `dovetail-${name}`, identity: `${name}-${randomBytes(4).toString('hex')}`, durationMs: given.leaseDurationMs,
    }),
    serve: async (service: Service): Promise<Service> => {
      await serveHealth({ ready: () => service.ready(), debugState: () => service.debugState(), metricsText: render, metricsType: contentType }, { port: 0, host: given.httpHost, log });
      return { ...service, ready: () => Object.fromEntries(Object.entries(service.ready()).map(([what, is]) => [`${name} ${what}`, is])) };
    },
  };
}

function startPodWatcher(world: World): Promise<Service> {
  const { clusterName, batchIdleMs, batchMaxMs } = world.settings;
  const { kube, log, metrics, serve, leadership, ...around } = surroundings(world, 'pod-watcher');
  const channel = { bus: around.bus, cluster: clusterName, hash: around.hash, source: 'pod-watcher', clock: around.clock };
  const leads = leadership();
  const watcher = podWatcher({ kube, channel, leadership: leads, log, metrics }, { ...defaultPodWatcherConfig, idleMs: batchIdleMs, maxMs: batchMaxMs });
  return serve({ run: (stop) => watcher.run(stop), ready: () => ({ state: !leads.held() || watcher.synced() }), debugState: watcher.debugState });
}

function startSolver(world: World, name: string, stop: StopSignal): Promise<Service> {
  const { clusterName, budgetMs } = world.settings;
  const { log, metrics, serve, bus, hash, clock } = surroundings(world, name);
  const engine = new SolverEngine({ cluster: clusterName, solver: name, hash, nowMs: () => clock.nowMs() });
  const port = inThread(engine, (ms) => systemClock.sleep(ms, stop));
  const channel = { bus, cluster: clusterName, hash, source: 'solver', clock };
  return serve({
    run: (ended) => runSolver({ channel, engine: port, log, metrics }, { ...defaultSolverConfig, budgetMs }, ended), ready: () => ({ mirror: port.ready() }), debugState: () => engine.debugState(),
  });
}

function startLauncher(world: World): Promise<Service> {
  const { clusterName, region, endpoint, placement, instanceProfile } = world.settings;
  const { serve, leadership, ...around } = surroundings(world, 'launcher', launcherMetrics);
  const cloud = createAwsCloud({ region, endpoint, clock: around.clock, log: around.log });
  const launcher = createLauncher(
    { ...around, cloud, leadership: leadership(), userData: userDataRenderer },
    { ...defaultLauncherConfig({ clusterName, region }), placement, defaultInstanceProfile: instanceProfile },
  );
  return serve({
    run: (stop) => launcher.run(stop).finally(() => cloud.close()), ready: () => Object.fromEntries(launcher.notReady().map((reason) => [reason, false])), debugState: () => launcher.debugState(),
  });
}

function startReaper(world: World): Promise<Service> {
  const { clusterName, region, endpoint, queueName } = world.settings;
  const { serve, leadership, ...around } = surroundings(world, 'reaper', reaperMetrics);
  const aws = { region, endpoint, clock: around.clock, log: around.log };
  const cloud = createAwsCloud(aws);
  const queue = createInterruptionQueue({ ...aws, queueName });
  const reaper = createReaper({ ...around, cloud, queue, leadership: leadership() }, { clusterName, ...defaultReaperConfig });
  const close = (): void => {
    queue.close();
    cloud.close();
  };
  return serve({ run: (stop) => reaper.run(stop).finally(close), ready: () => reaper.ready(), debugState: () => reaper.debugState() });
}
