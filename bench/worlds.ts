import type { NodeClass, Pool } from '@dovetail/core-api';
import { catalogFor, catalogZones, instanceTypesFor, priceBookOf, type InstanceType, type Offering } from '@dovetail/core-ec2-model';
import { requirementsOf, type DaemonSet, type LabelSelector, type Pod } from '@dovetail/core-kube-model';
import type { ExistingNode, Snapshot } from '@dovetail/core-scheduling';

/** A generated case: what is there, and what has to be placed. */
export type BenchWorld = { readonly name: string; readonly snapshot: Snapshot; readonly pods: readonly Pod[] };

/** A small seeded generator (mulberry32): the same seed gives the same worlds everywhere. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.next() * from.length)] as T;
  }

  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next());
  }
}

export const zoneKey = 'topology.kubernetes.io/zone';
export const hostKey = 'kubernetes.io/hostname';
const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;

export function podOf(uid: string, over: Partial<Pod>): Pod {
  return {
    uid, namespace: 'default', name: uid, resourceVersion: '1', labels: {}, annotations: {}, createdMs: 1_700_000_000_000, phase: 'Pending', ready: false,
    unschedulable: true, mirror: false, priority: 0, schedulerName: 'default-scheduler', schedulingGates: [], schedulingGroup: false,
    nodeSelector: {}, preferredNodeAffinity: [], tolerations: [], topologySpread: [], requiredPodAffinity: [],
    preferredPodAffinity: [], requiredPodAntiAffinity: [], preferredPodAntiAffinity: [], hostPorts: [], volumes: [], resourceClaims: [],
    terminationGracePeriodSeconds: 30, requests: { pods: 1 }, ...over,
  };
}

const selecting = (labels: Readonly<Record<string, string>>): LabelSelector =>
  ({ requirements: Object.entries(labels).map(([key, value]) => ({ key, operator: 'In' as const, values: [value] })) });

const poolOf = (over: Partial<Pool> = {}): Pool => ({
  identity: { kind: 'NodePool', name: 'default' }, uid: 'pool-default', resourceVersion: '1', generation: 1, createdMs: 0, weight: 0, limits: {},
  labels: {}, annotations: {}, taints: [], startupTaints: [], requirements: [], hash: 'h', ready: true,
  classRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
  disruption: { policy: 'WhenEmptyOrUnderutilized', consolidateAfterMs: 0, budgets: [] }, ...over,
});

const daemonSetOf = (name: string, cpuMillis: number, memoryMib: number): DaemonSet => ({
  uid: `ds-${name}`, namespace: 'kube-system', name, resourceVersion: '1',
  template: podOf(`ds-${name}`, { namespace: 'kube-system', requests: { cpu: cpuMillis, memory: memoryMib * mebibyte, pods: 1 } }),
});

function snapshotOf(instanceTypes: readonly InstanceType[], daemonSets: readonly DaemonSet[], pool = poolOf()): Snapshot {
  return {
    stateSequence: 1, catalogRevision: 'bench', admissionHead: '', pools: [{ pool, instanceTypes }], nodes: [], daemonSets, namespaces: [],
    persistentVolumes: [], persistentVolumeClaims: [], storageClasses: [], csiNodes: [],
  };
}

const region = 'us-east-1';
const zones = ['us-east-1a', 'us-east-1b', 'us-east-1c'] as const;

/** An AL2023 class with subnets in three zones. */
export function nodeClass(): NodeClass {
  const ids = new Map(catalogZones(region).map((zone) => [zone.name, zone.id]));
  return {
    ref: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }, uid: 'class-1', resourceVersion: '1', generation: 1, ready: true, hash: 'h',
    subnetSelectorTerms: [], securityGroupSelectorTerms: [], amiFamily: 'AL2023', amiSelectorTerms: [{ alias: 'al2023@latest' }], role: 'node', tags: {}, kubelet: {},
    blockDeviceMappings: [], detailedMonitoring: false,
    metadataOptions: { httpEndpoint: 'enabled', httpProtocolIpv6: 'disabled', httpPutResponseHopLimit: 1, httpTokens: 'required' },
    status: {
      subnets: zones.map((zone) => ({ id: `subnet-${zone}`, zone, ...(ids.has(zone) ? { zoneId: ids.get(zone) as string } : {}) })), securityGroups: [],
      amis: [{ id: 'ami-1', name: 'amd64', deprecated: false, arch: 'amd64', variant: 'standard' }],
    },
  };
}

const generation = (name: string): number => Number(/^[a-z]+(\d+)/.exec(name)?.[1] ?? 0);

/** Real c, m and r types for amd64 of generation 5 and later, on-demand in us-east-1, with no more vCPUs than asked for. */
export function realTypes(vcpusMax: number): readonly InstanceType[] {
  const entries = catalogFor(region).filter(({ facts, onDemandPriceMicrosPerHour }) => /^[cmr]\d/.test(facts.name) && facts.arch === 'amd64' && !facts.bareMetal
    && generation(facts.name) >= 5 && facts.vcpus <= vcpusMax && facts.gpus.length === 0 && onDemandPriceMicrosPerHour !== undefined);
  const { types } = instanceTypesFor(nodeClass(), {
    region, facts: entries.map((entry) => entry.facts), zones: new Map(entries.map((entry) => [entry.facts.name, entry.zones])),
    prices: priceBookOf(entries.map((entry) => ({ instanceType: entry.facts.name, capacityType: 'on-demand', priceMicrosPerHour: entry.onDemandPriceMicrosPerHour ?? 0, estimated: false }))),
    isUnavailable: () => false,
  });
  const onDemand = types.map((type) => ({ ...type, offerings: type.offerings.filter((one) => one.capacityType === 'on-demand' && one.available) }));
  return onDemand.filter((type) => type.offerings.length > 0);
}

type Rules = 'plain' | 'spread';

const clamp = (value: number, least: number, most: number): number => Math.min(most, Math.max(least, value));

/** Log-normal requests: 400 millicores and 3 GiB a core in the middle, rounded as people write them. */
function requestsOf(random: Random, cpuMillisMax: number): Pod['requests'] {
  const cpu = clamp(Math.round(Math.exp(Math.log(400) + 1.0 * random.normal()) / 10) * 10, 20, cpuMillisMax);
  const memory = clamp(Math.round((cpu * 3.1 * Math.exp(0.8 * random.normal())) / 32) * 32, 32, 24 * cpuMillisMax / 8);
  return { cpu, memory: memory * mebibyte, pods: 1 };
}

function rulesOf(random: Random, app: string, replicas: number): Partial<Pod> {
  const spread = (topologyKey: string): Pod['topologySpread'][number] =>
    ({ maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', selector: selecting({ app }), nodeAffinityPolicy: 'Honor', nodeTaintsPolicy: 'Ignore' });
  const draw = random.next();
  if (replicas < 2) return {};
  if (draw < 0.3) return { topologySpread: [spread(zoneKey)] };
  if (draw < 0.5) return { topologySpread: [spread(hostKey)] };
  if (draw < 0.6) return { topologySpread: [spread(zoneKey), spread(hostKey)] };
  if (draw < 0.75 && replicas <= 12) return { requiredPodAntiAffinity: [{ topologyKey: hostKey, selector: selecting({ app }), namespaces: [] }] };
  return {};
}

/** Heavy-tailed numbers of replicas (Pareto, 1.2), none above a fifth of all pods. */
const replicasOf = (random: Random, all: number): number => Math.min(Math.ceil(all / 5), Math.floor((1 - random.next()) ** (-1 / 1.2)));

/** Deployments with log-normal requests and heavy-tailed replicas beside two daemonsets, on real types. */
export function generatedWorld(what: { readonly pods: number; readonly seed: number; readonly vcpusMax: number; readonly rules: Rules }): BenchWorld {
  const random = new Random(what.seed * 7919 + what.pods);
  const cpuMillisMax = Math.min(14_000, what.vcpusMax * 500);
  const pods: Pod[] = [];
  for (let deployment = 0; pods.length < what.pods; deployment += 1) {
    const replicas = Math.min(what.pods - pods.length, replicasOf(random, what.pods));
    const app = `app-${deployment}`;
    const shared = { labels: { app }, requests: requestsOf(random, cpuMillisMax), ...(what.rules === 'spread' ? rulesOf(random, app, replicas) : {}) };
    for (let replica = 0; replica < replicas; replica += 1) pods.push(podOf(`${app}-${replica}`, shared));
  }
  const size = Number.isFinite(what.vcpusMax) ? `<=${what.vcpusMax} vCPU` : 'any size';
  return { name: `${what.rules} ${what.pods}, ${size}, seed ${what.seed}`, snapshot: snapshotOf(realTypes(what.vcpusMax), [daemonSetOf('agent', 100, 128), daemonSetOf('logs', 150, 384)]), pods };
}

/** As many equal deployments as asked for, whatever the number of pods: what a plan costs in time grows with the former. */
export function evenWorld(what: { readonly pods: number; readonly classes: number; readonly seed: number }): BenchWorld {
  const random = new Random(what.seed);
  const shared = Array.from({ length: what.classes }, (_, index) => ({ labels: { app: `app-${index}` }, requests: { ...requestsOf(random, 14_000), 'ephemeral-storage': index * mebibyte } }));
  const pods = Array.from({ length: what.pods }, (_, index) => podOf(`app-${index % what.classes}-${Math.floor(index / what.classes)}`, shared[index % what.classes] ?? {}));
  return { name: `${what.pods} pods, ${what.classes} classes`, snapshot: snapshotOf(realTypes(32), []), pods };
}

/** The fake types of Karpenter's scheduling benchmark: type i has i+1 cores, 2(i+1) GiB and 10(i+1) pods, priced by size. */
function fakeTypes(count: number): readonly InstanceType[] {
  return Array.from({ length: count }, (_, index) => {
    const size = index + 1;
    const priceMicrosPerHour = Math.round(1e6 * (0.1 * size + (0.1 * 2 * size * gibibyte) / 1e9));
    const offering = (zone: string, capacityType: Offering['capacityType']): Offering => ({ zone, capacityType, priceMicrosPerHour, available: true, priceEstimated: false });
    const capacity = { cpu: 1000 * size, memory: 2 * size * gibibyte, pods: 10 * size, 'ephemeral-storage': 20 * gibibyte };
    const offerings = [offering('test-zone-1', 'spot'), offering('test-zone-2', 'spot'), offering('test-zone-1', 'on-demand'), offering('test-zone-2', 'on-demand'), offering('test-zone-3', 'on-demand')];
    return {
      name: `fake-it-${index}`, offerings, capacity, allocatable: { ...capacity, cpu: capacity.cpu - 100, memory: capacity.memory - 10 * mebibyte },
      requirements: requirementsOf([
        { key: 'node.kubernetes.io/instance-type', operator: 'In', values: [`fake-it-${index}`] }, { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
        { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }, { key: zoneKey, operator: 'In', values: ['test-zone-1', 'test-zone-2', 'test-zone-3'] },
        { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot', 'on-demand'] },
      ]),
    };
  });
}

const letters = ['a', 'b', 'c', 'd', 'e', 'f', 'g'] as const;

function diversePod(random: Random, kind: number, uid: string): Pod {
  const requests = { cpu: random.pick([100, 250, 500, 1000, 1500]), memory: random.pick([100, 256, 512, 1024, 2048, 4096]) * mebibyte, pods: 1 };
  const labels = { 'my-label': random.pick(letters) };
  const spread = (topologyKey: string): Partial<Pod> => ({
    requests, labels,
    topologySpread: [{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', selector: selecting({ 'my-label': random.pick(letters) }), nodeAffinityPolicy: 'Honor', nodeTaintsPolicy: 'Ignore' }],
  });
  switch (kind) {
    case 1: return podOf(uid, spread(zoneKey));
    case 2: return podOf(uid, spread(hostKey));
    case 3: {
      const affinity = { 'my-affininity': random.pick(letters) };
      return podOf(uid, { requests, labels: affinity, requiredPodAffinity: [{ topologyKey: zoneKey, selector: selecting(affinity), namespaces: [] }] });
    }
    case 4: return podOf(uid, { requests, labels: { app: 'nginx' }, requiredPodAntiAffinity: [{ topologyKey: hostKey, selector: selecting({ app: 'nginx' }), namespaces: [] }] });
    default: return podOf(uid, { requests, labels });
  }
}

/** The diverse mix of Karpenter's scheduling benchmark: five kinds of pods in equal parts, one pool, no nodes yet. */
export function diverseWorld(count: number, seed = 42): BenchWorld {
  const random = new Random(seed);
  const pods = Array.from({ length: count }, (_, index) => diversePod(random, Math.floor((index * 5) / count), `pod-${String(index).padStart(6, '0')}`));
  const pool = poolOf({ limits: { cpu: 1e10, memory: 1e7 * gibibyte } });
  return { name: `diverse ${count}`, snapshot: snapshotOf(fakeTypes(400), [], pool), pods };
}

/** Many pods in few classes over nodes that exist and have room for nine in ten of them. */
export function crowdedWorld(what: { readonly pods: number; readonly nodes: number; readonly seed: number }): BenchWorld {
  const base = generatedWorld({ pods: what.pods, seed: what.seed, vcpusMax: 32, rules: 'plain' });
  const total = (name: string): number => base.pods.reduce((sum, pod) => sum + (pod.requests[name] ?? 0), 0);
  const each = (name: string): number => Math.ceil((0.9 * total(name)) / what.nodes);
  const nodes = Array.from({ length: what.nodes }, (_, index): ExistingNode => {
    const capacity = { cpu: Math.max(16_000, each('cpu')), memory: Math.max(64 * gibibyte, each('memory')), pods: 250, 'ephemeral-storage': 20 * gibibyte };
    const zone = zones[index % zones.length] ?? zones[0];
    return {
      name: `node-${index}`, uid: `node-${index}`, poolKey: 'NodePool/default', state: 'ready', requirements: new Map(), taints: [], cordoned: false, capacity, allocatable: capacity,
      labels: { [hostKey]: `node-${index}`, [zoneKey]: zone, 'kubernetes.io/arch': 'amd64', 'kubernetes.io/os': 'linux', 'karpenter.sh/nodepool': 'default' }, pods: [], promisedPods: [], reserved: {},
    };
  });
  return { ...base, name: `crowded ${what.pods} over ${what.nodes}`, snapshot: { ...base.snapshot, nodes } };
}
