import { setMaxListeners } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { followCatalog, planIdOf, publishPlan, type AdmissionNumber, type Channel, type PlanCause, type PlanMessage } from '@dovetail/contracts';
import { userDataRenderer } from '@dovetail/adapter-aws';
import { typesWithPoolKubelet, type InstanceType } from '@dovetail/core-ec2-model';
import type { Pod } from '@dovetail/core-kube-model';
import { kubeResources, type Bus, type Cloud, type KubeApi, type KubeObject, type KubeResource, type Log, type Metrics } from '@dovetail/core-ports';
import { defaultPlanOptions, plan } from '@dovetail/core-scheduling';
import { leaseLeadership, systemHash } from '@dovetail/runtime';
import { memoryBus, MemoryBusServer } from '@dovetail/sim-bus';
import { catalogTypes, createCloud, inProcessCloud, worldFor, type CloudSettings, type CloudTwin, type Machine } from '@dovetail/sim-cloud';
import { createKubeStore, createNodeAgent, createOffsetClock, inProcessKube, startKubeControllers, type KubeStore, type SimClock } from '@dovetail/sim-kube';
import { parse } from 'yaml';
import { defaultLauncherConfig, type LauncherConfig } from '../config.js';
import { createLauncher, type Launcher } from '../launcher.js';
import type { CatalogView } from '../world/catalog-view.js';
import { isWaiting, promiseHolding } from '../world/promises.js';
import { snapshotOf } from '../world/snapshot.js';
import { watchWorld } from '../world/watches.js';
import { classKey, World } from '../world/world.js';

const definitions: KubeResource = { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition', plural: 'customresourcedefinitions', namespaced: false };
const cluster = 'lab';
const crdFolder = join(import.meta.dirname, '../../../../../deploy/crds');
const crds = readdirSync(crdFolder).filter((file) => file.endsWith('.yaml')).map((file) => parse(readFileSync(join(crdFolder, file), 'utf8')) as KubeObject);

/** Enough to choose among, few enough to plan in a moment. */
const fewTypes = catalogTypes('us-west-2').filter(({ facts }) => /^(c|m|r)(5|5a|6i)\.(large|xlarge|2xlarge|4xlarge)$/.test(facts.name));

export type Stage = {
  readonly clock: SimClock;
  readonly store: KubeStore;
  readonly kube: KubeApi;
  readonly twin: CloudTwin;
  readonly cloud: Cloud;
  readonly bus: Bus;
  readonly server: MemoryBusServer;
  readonly channel: Channel;
  readonly log: Log & { readonly lines: string[] };
  /** What a solver would see of the cluster and the published catalog. */
  readonly world: World;
  readonly catalog: CatalogView;
  launcher(name: string, change?: { readonly kube?: KubeApi; readonly cloud?: Cloud; readonly bus?: Bus; readonly config?: Partial<LauncherConfig> }): Running;
  /** From now on plans whatever is pending and not promised, as pod-watcher and solvers would. */
  planAlways(): void;
  /** Plans these pods on what is known now and publishes the plan. */
  planFor(pods: readonly string[], options?: { readonly cause?: PlanCause; readonly change?: (plan: PlanMessage) => PlanMessage }): Promise<PlanMessage>;
  head(): Promise<AdmissionNumber | undefined>;
  launchers(): readonly Launcher[];
  /** Does something once, just before the launchers' next patch of this resource reaches the API server. */
  beforePatch(plural: string, act: () => Promise<void>): Promise<void>;
  end(): Promise<void>;
};
export type Running = {
  readonly launcher: Launcher;
  stop(): Promise<void>;
  /** It may never end by itself: nobody waits for it. */
  abandon(): void;
};

/** The cluster, the cloud and the bus in one process; machines boot as nodes and run pods, as in the lab. */
export async function stage(options: { readonly settings?: Partial<CloudSettings>; readonly zones?: readonly string[]; readonly scheduler?: boolean; readonly leaseMs?: number } = {}): Promise<Stage> {
  const clock = createOffsetClock();
  const store = createKubeStore({ clock, seed: 1 });
  const kube = inProcessKube(store);
  for (const crd of crds) await kube.create(definitions, crd);
  const twin = createCloud({
    clock, seed: 'seed', world: worldFor('us-west-2', { clusterName: cluster, zones: options.zones ?? ['a', 'b'], types: fewTypes }),
    settings: { consistencyMs: 20, runningDelayMs: 10, bootDelayMs: 20, shutdownDelayMs: 20, limits: 'none', ...options.settings },
  });
  const stop = new AbortController();
  // One signal ends everything on the stage; many listen.
  setMaxListeners(0, stop.signal);
  const controllers = options.scheduler === true ? startKubeControllers(store) : undefined;
  const agent = createNodeAgent({ kube, clock, joinMs: 10, readyMs: 10, podStartMs: 5, podStopMs: 5 });
  void agent.run(stop.signal);
  twin.onBoot((machine) => { if (machine.boot.joins) agent.boot(instanceOf(machine, twin)); });
  twin.onTerminate((machine) => agent.halt(machine.privateDnsName));
  const server = new MemoryBusServer(clock);
  const bus = memoryBus(server);
  const log = quietLog();
  const channel: Channel = { bus, cluster, hash: systemHash, source: 'test', clock };
  const view = await watchAsSolver({ kube, clock, log, channel }, stop.signal);
  const running: Running[] = [];
  const hooks: { readonly plural: string; readonly act: () => Promise<void> }[] = [];
  const hooked: KubeApi = { ...kube, patch: async (ref, patch, patching) => {
    const index = hooks.findIndex((hook) => hook.plural === ref.resource.plural);
    if (index >= 0) await hooks.splice(index, 1)[0]?.act();
    return kube.patch(ref, patch, patching);
  } };
  const abandoned: AbortController[] = [];
  const self: Stage = {
    clock, store, kube, twin, cloud: inProcessCloud(twin), bus, server, channel, log, ...view,
    launcher(name, change = {}) {
      const ended = new AbortController();
      const ports = { kube: change.kube ?? hooked, cloud: change.cloud ?? self.cloud, bus: change.bus ?? memoryBus(server), clock, log, metrics: noMetrics, hash: systemHash, userData: userDataRenderer };
      const leadership = leaseLeadership({ kube: ports.kube, log, clock, namespace: 'kube-system', name: 'dovetail-launcher', identity: name, durationMs: options.leaseMs ?? 1_000 });
      const launcher = createLauncher({ ...ports, leadership }, { ...testConfig(), ...change.config });
      const ending = launcher.run(ended.signal);
      const one: Running = { launcher, stop: async () => { ended.abort(); await ending; }, abandon: () => { running.splice(running.indexOf(one), 1); abandoned.push(ended); } };
      running.push(one);
      return one;
    },
    planAlways: () => void planAlways(self, stop.signal),
    planFor: (names, planning = {}) => planFor(self, names, planning),
    launchers: () => running.map((one) => one.launcher),
    beforePatch: (plural, act) => new Promise((resolve) => { hooks.push({ plural, act: async () => { await act(); resolve(); } }); }),
    head: async () => [...(await admissionHeads(self))].at(-1),
    end: async () => {
      for (const one of abandoned) one.abort();
      for (const one of running) await one.stop();
      stop.abort();
      controllers?.stop();
      twin.close();
    },
  };
  return self;
}

export const testConfig = (): LauncherConfig => {
  const config = defaultLauncherConfig({ clusterName: cluster, region: 'us-west-2' });
  return {
    ...config, defaultInstanceProfile: `KarpenterNodeInstanceProfile-${cluster}`,
    launch: { ...config.launch, gatherMs: 5, attemptMs: 20, attemptMaxMs: 100, consistencyMs: 60, callsPerSecond: 1_000 },
    lifecycle: { ...config.lifecycle, openAfterMs: 20 },
    discovery: { ...config.discovery, retryMs: 50 },
  };
};

async function watchAsSolver(deps: { kube: KubeApi; clock: SimClock; log: Log; channel: Channel }, stop: AbortSignal): Promise<{ world: World; catalog: CatalogView }> {
  const world = new World();
  const types = new Map<string, Map<string, InstanceType>>();
  void watchWorld({ ...deps, metrics: noMetrics }, world, await deps.kube.serverVersion(), stop);
  void (async () => {
    for await (const event of followCatalog(deps.channel, stop)) {
      if (event.kind !== 'class') continue;
      const known = event.part.part === 0 ? new Map<string, InstanceType>() : (types.get(event.part.classUid) ?? new Map<string, InstanceType>());
      for (const type of event.part.instanceTypes) known.set(type.name, type);
      types.set(event.part.classUid, known);
    }
  })();
  const typesOf: CatalogView['typesOf'] = (key, kubelet) => {
    const row = world.nodeClasses.one('key', key);
    const told = row === undefined ? [] : typesWithPoolKubelet([...(types.get(row.uid)?.values() ?? [])], row, kubelet);
    return new Map(told.map((type) => [type.name, type]));
  };
  return { world, catalog: { revision: '1', typesOf } };
}

async function planFor(self: Stage, names: readonly string[], options: { readonly cause?: PlanCause; readonly change?: (plan: PlanMessage) => PlanMessage }): Promise<PlanMessage> {
  const pods = [...self.world.pods.values()].filter((pod) => names.includes(pod.name)).sort((a, b) => (a.uid < b.uid ? -1 : 1));
  const snapshot = snapshotOf(self.world, self.catalog, self.clock.nowMs());
  const cause = options.cause ?? { kind: 'pending', group: 'all', round: `1.${self.clock.nowMs()}` } as const;
  const planned = plan(cause.kind === 'pending' ? snapshot : { ...snapshot, nodes: snapshot.nodes.filter((node) => node.uid !== cause.nodeUid) }, pods.map(unbound), defaultPlanOptions);
  const content = {
    cause, plan: planned, statePosition: { incarnation: 'test', sequence: 1 }, admissionSeen: (await self.head()) ?? { epoch: 0, number: 0 }, createdMs: self.clock.nowMs(), solver: 'test', solveMs: 1,
  };
  const message: PlanMessage = { ...content, id: planIdOf(systemHash, content) };
  const sent = options.change?.(message) ?? message;
  await publishPlan(self.channel, sent);
  return sent;
}

async function planAlways(self: Stage, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    const nowMs = self.clock.nowMs();
    const free = [...self.world.pods.values()].filter((pod) => isWaiting(pod) && promiseHolding(self.world, pod.uid, nowMs) === undefined);
    if (free.length > 0) await self.planFor(free.map((pod) => pod.name)).catch(() => undefined);
    await self.clock.sleep(100, stop);
  }
}

function unbound(pod: Pod): Pod {
  const { nodeName: _left, ...rest } = pod;
  return { ...rest, phase: 'Pending' };
}

async function admissionHeads(self: Stage): Promise<readonly AdmissionNumber[]> {
  const { decodeStateRecord, streamName, subjects } = await import('@dovetail/contracts');
  const message = await self.bus.lastMessage(streamName(cluster, 'state'), subjects.state(cluster, 'admission', 'head')).catch(() => undefined);
  const read = message === undefined ? undefined : decodeStateRecord(message.payload);
  return read?.ok === true && read.value.kind === 'set' && read.value.state.kind === 'admission' ? [read.value.state.value] : [];
}

function instanceOf(machine: Machine, twin: CloudTwin): Parameters<ReturnType<typeof createNodeAgent>['boot']>[0] {
  const type = twin.types.get(machine.instanceType);
  if (type === undefined || !machine.boot.joins) throw new Error(`${machine.instanceId} cannot join`);
  const { facts } = type;
  const amounts = { cpu: String(facts.vcpus), memory: `${facts.memoryMib}Mi`, pods: String(machine.podsMax), 'ephemeral-storage': '20Gi' };
  return {
    nodeName: machine.privateDnsName, providerId: machine.providerId, arch: machine.arch, kubeletVersion: `v${machine.kubernetesVersion ?? '1.32'}.0`, internalIp: machine.privateIp,
    labels: { ...machine.boot.config.labels, 'topology.kubernetes.io/zone': machine.zone, 'topology.kubernetes.io/region': machine.region, 'node.kubernetes.io/instance-type': machine.instanceType },
    taints: machine.boot.config.taints, capacity: amounts, allocatable: { ...amounts, cpu: `${facts.vcpus * 1000 - 100}m`, memory: `${Math.floor(facts.memoryMib * 0.85)}Mi` },
  };
}

const noMetrics: Metrics = { count: () => undefined, set: () => undefined, observe: () => undefined };

function quietLog(): Log & { readonly lines: string[] } {
  const lines: string[] = [];
  const at = (level: string) => (name: string, message: string, fields?: object): void => {
    lines.push(`${level} ${name} ${message} ${JSON.stringify(fields ?? {})}`);
    // LAUNCHER_LOG=1 shows what the launchers say while a test runs.
    if (process.env['LAUNCHER_LOG'] !== undefined) process.stderr.write(`${lines.at(-1) ?? ''}\n`);
  };
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** Resolves with the first value that the look answers; fails, saying what was waited for, after twenty seconds of real time. */
export async function eventually<T>(what: string, look: () => Promise<T | undefined | false> | T | undefined | false, timeoutMs = 20_000): Promise<T> {
  const until = Date.now() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > until) throw new Error(`waited for ${what} in vain`);
    await new Promise((resolve) => { setTimeout(resolve, 5); });
  }
}

export const nodePool = (name = 'general', change: { readonly spec?: object; readonly node?: object } = {}): KubeObject => ({
  apiVersion: 'karpenter.sh/v1', kind: 'NodePool', metadata: { name },
  spec: {
    template: { spec: {
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }, expireAfter: '336h',
      requirements: [
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] }, { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
        { key: 'karpenter.k8s.aws/instance-category', operator: 'In', values: ['c', 'm', 'r'] }, { key: 'karpenter.k8s.aws/instance-generation', operator: 'Gt', values: ['4'] },
      ], ...change.node,
    } },
    disruption: { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '0s', budgets: [{ nodes: '10%' }] },
    ...change.spec,
  },
});

export const nodeClass = (name = 'default'): KubeObject => ({
  apiVersion: 'karpenter.k8s.aws/v1', kind: 'EC2NodeClass', metadata: { name },
  spec: {
    role: `KarpenterNodeRole-${cluster}`, amiSelectorTerms: [{ alias: 'al2023@latest' }],
    subnetSelectorTerms: [{ tags: { 'karpenter.sh/discovery': cluster } }], securityGroupSelectorTerms: [{ tags: { 'karpenter.sh/discovery': cluster } }],
  },
});

export const podObject = (name: string, change: { readonly cpu?: string; readonly memory?: string; readonly spec?: object; readonly labels?: Readonly<Record<string, string>> } = {}): KubeObject => ({
  apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default', labels: change.labels ?? { app: 'inflate' } },
  spec: { containers: [{ name: 'main', image: 'pause:3.9', resources: { requests: { cpu: change.cpu ?? '1', memory: change.memory ?? '1Gi' } } }], terminationGracePeriodSeconds: 0, ...change.spec },
});

export const readyPool = async (self: Stage): Promise<void> => {
  await self.kube.create(kubeResources.ec2NodeClasses, nodeClass());
  await self.kube.create(kubeResources.nodePools, nodePool());
};

/** Waits until a plan can be made: the pool is ready and its class' catalog was published. */
export const planningPossible = (self: Stage): Promise<boolean> => eventually('a ready pool and its catalog', async () =>
  (await self.head()) !== undefined && [...self.world.pools.values()].some((pool) => pool.ready && self.catalog.typesOf(classKey(pool.classRef)).size > 0));
