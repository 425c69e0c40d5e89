import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { streamSpecs } from '@dovetail/contracts';
import { annotations, nodeClaimObject, terminationFinalizer } from '@dovetail/core-api';
import { kubeResources, type KubeApi, type KubeObject, type KubeResource, type Log, type Metrics } from '@dovetail/core-ports';
import { memoryBus, MemoryBusServer } from '@dovetail/sim-bus';
import { virtualClock, type VirtualClock } from '@dovetail/sim-clock';
import { createCloud, inProcessCloud, worldFor, type CloudTwin } from '@dovetail/sim-cloud';
import { createKubeStore, inProcessKube, type KubeStore, type SimClock } from '@dovetail/sim-kube';
import { defaultReaperConfig, type ReaperConfig } from '../config.js';
import type { ReaperDeps } from '../deps.js';
import { Stopper } from '@dovetail/core-ports';
import { createReaper, type Reaper } from '../reaper.js';
import { mortal, type Kill } from './crash.js';

export const startMs = Date.UTC(2026, 10, 21, 12);
export const clusterName = 'lab';
export const interruptionKinds = ['spot-interruption', 'rebalance', 'state-change', 'capacity-reservation-interruption', 'scheduled-change'] as const;

const quiet: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

/** Parsed once: reading them is slower than most tests. */
const definitions = ['nodeclaims', 'nodepools', 'provisioners'].map((file) =>
  parse(readFileSync(new URL(`../../../../../deploy/crds/karpenter.sh_${file}.yaml`, import.meta.url), 'utf8')) as Record<string, unknown>);

/** A virtual clock as the Kubernetes twin wants it. */
const simClock = (clock: VirtualClock): SimClock => ({
  nowMs: clock.nowMs, sleep: clock.sleep, advance: () => { throw new Error('time is moved by the world'); },
  soon: (run) => void setImmediate(run),
  after: (delayMs, run) => {
    const stop = new Stopper();
    void clock.sleep(Math.max(1, delayMs), stop).then(() => { if (!stop.aborted) run(); });
    return () => stop.abort();
  },
});

export type NodeOptions = {
  readonly pool?: string;
  readonly poolKind?: 'NodePool' | 'Provisioner';
  readonly expireAfterMs?: number;
  readonly terminationGracePeriodMs?: number;
  readonly capacityType?: 'on-demand' | 'spot';
  readonly claimAnnotations?: Readonly<Record<string, string>>;
  readonly nodeAnnotations?: Readonly<Record<string, string>>;
  readonly cpu?: string;
};
export type MadeNode = { readonly name: string; readonly claimName: string; readonly instanceId: string; readonly nodeUid: string };

/** What a budget was broken by, an instance lost to, and so on: empty at the end of every test. */
export type Broken = string;

/** A cluster of twins with what a cluster needs around the reaper: kubelets, a workload controller with a scheduler, budgets' status, and boots. */
export class TestCluster {
  readonly clock = virtualClock(startMs);
  readonly store: KubeStore;
  readonly kube: KubeApi;
  readonly twin: CloudTwin;
  readonly cloud: ReturnType<typeof inProcessCloud>;
  readonly busServer: MemoryBusServer;
  readonly broken: Broken[] = [];
  readonly logs: { readonly level: string; readonly name: string; readonly message: string }[] = [];
  readonly metrics = new Map<string, number>();
  readonly #stop = new Stopper();
  readonly #replicas = new Map<string, number>();
  readonly #budgets = new Map<string, number>();
  #made = 0;
  #templateReady = false;

  constructor() {
    this.store = createKubeStore({ clock: simClock(this.clock), seed: 7 });
    this.kube = inProcessKube(this.store);
    this.twin = createCloud({ clock: this.clock, seed: 'reaper', world: worldFor('us-west-2', { clusterName, zones: ['a', 'b'] }) });
    this.cloud = inProcessCloud(this.twin);
    this.busServer = new MemoryBusServer(this.clock);
    for (const definition of definitions) {
      this.store.create(this.store.type('apiextensions.k8s.io', 'v1', 'customresourcedefinitions'), { object: definition });
    }
  }

  async start(): Promise<void> {
    await memoryBus(this.busServer).ensureStreams(streamSpecs(clusterName));
    this.store.state.subscribe(() => this.#checkBudgets());
    void this.#life();
    await this.clock.advance(1_000);
  }

  stop(): void { this.#stop.abort(); }

  log(): Log {
    const at = (level: string) => (name: string, message: string): void => { this.logs.push({ level, name, message }); };
    return process.env['REAPER_TEST_LOG'] === undefined ? { ...quiet, info: at('info'), warn: at('warn'), error: at('error') }
      : { debug: () => undefined, info: (name, message) => console.log(this.seconds(), name, message), warn: (name, message) => console.log(this.seconds(), 'WARN', name, message), error: (name, message) => console.log(this.seconds(), 'ERROR', name, message) };
  }

  seconds(): number { return (this.clock.nowMs() - startMs) / 1000; }

  deps(): ReaperDeps {
    const metrics: Metrics = {
      count: (name, labels = {}, by = 1) => { const key = `${name}${JSON.stringify(labels)}`; this.metrics.set(key, (this.metrics.get(key) ?? 0) + by); },
      set: (name, value, labels = {}) => { this.metrics.set(`${name}${JSON.stringify(labels)}`, value); },
      observe: () => undefined,
    };
    return {
      kube: this.kube, cloud: this.cloud, queue: this.cloud, bus: memoryBus(this.busServer), clock: this.clock, log: this.log(), metrics,
      hash: { sha256Hex: (text) => createHash('sha256').update(text).digest('hex') },
      leadership: {
        held: () => true, epoch: () => 1,
        run: async (stop, onLead) => { if (!stop.aborted) await onLead({ epoch: 1, stop, guardedWrite: () => Promise.resolve(), inherited: '' }); },
      },
    };
  }

  /** Starts a reaper that dies at the given effect, or lives until the answer's `stop` is raised; with another view of the API server, if told. */
  reaper(options: { readonly kill?: Kill; readonly config?: Partial<ReaperConfig>; readonly kube?: KubeApi } = {}): { readonly stop: Stopper; readonly effects: () => number; readonly reaper: Reaper } {
    const living = mortal({ ...this.deps(), ...(options.kube === undefined ? {} : { kube: options.kube }) }, options.kill);
    const reaper = createReaper(living.deps, { clusterName, ...defaultReaperConfig, ...options.config });
    void reaper.run(living.stop);
    return { stop: living.stop, effects: living.effects, reaper };
  }

  /** Moves time on in small steps, so that everything has its turn. */
  async pass(seconds: number, until: () => boolean = () => false, stepMs = 500): Promise<boolean> {
    for (let passedMs = 0; passedMs < seconds * 1_000; passedMs += stepMs) {
      if (until()) return true;
      await this.clock.advance(stepMs);
    }
    return until();
  }

  list(resource: KubeResource): readonly KubeObject[] { return this.store.list(this.store.type(resource.group, resource.version, resource.plural)).items as readonly KubeObject[]; }
  names(resource: KubeResource): readonly string[] { return this.list(resource).map(({ metadata }) => metadata.name).sort(); }
  find(resource: KubeResource, name: string): KubeObject | undefined { return this.list(resource).find(({ metadata }) => metadata.name === name); }
  events(reason: string): readonly string[] { return this.list(kubeResources.events).filter((event) => event['reason'] === reason).map((event) => String(event['message'])); }
  runningInstances(): readonly string[] { return this.twin.instances.all().filter(({ state }) => state !== 'terminated' && state !== 'shutting-down').map(({ id }) => id).sort(); }

  async nodePool(name: string, disruption: object, more: object = {}): Promise<void> {
    await this.kube.create(kubeResources.nodePools, {
      apiVersion: 'karpenter.sh/v1', kind: 'NodePool', metadata: { name },
      spec: { template: { spec: { requirements: [], nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }, ...more } }, disruption: { budgets: [{ nodes: '10%' }], ...disruption } },
    });
  }

  /** An instance that has become a node, with its claim, as the launcher leaves it. */
  async node(name: string, options: NodeOptions = {}): Promise<MadeNode> {
    const instanceId = await this.#launch(options.capacityType ?? 'on-demand');
    const instance = this.twin.instances.get(instanceId);
    const providerId = `aws:///${instance.zone}/${instanceId}`;
    const claimName = `claim-${name}`;
    const { pool = 'default', poolKind = 'NodePool' } = options;
    const poolObject = this.find(poolKind === 'NodePool' ? kubeResources.nodePools : kubeResources.provisioners, pool);
    const labels = { 'node.kubernetes.io/instance-type': instance.instanceType, 'topology.kubernetes.io/zone': instance.zone, 'karpenter.sh/capacity-type': instance.capacityType };
    const parts = nodeClaimObject({
      name: claimName, pool: { kind: poolKind, name: pool }, poolUid: poolObject?.metadata.uid ?? 'gone', labels, annotations: { [annotations.instanceId]: instanceId, ...options.claimAnnotations },
      classRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }, taints: [], startupTaints: [], requirements: [], requests: {},
      ...(options.expireAfterMs === undefined ? {} : { expireAfterMs: options.expireAfterMs }),
      ...(options.terminationGracePeriodMs === undefined ? {} : { terminationGracePeriodMs: options.terminationGracePeriodMs }),
    });
    await this.kube.create(kubeResources.nodeClaims, parts as unknown as KubeObject);
    const now = new Date(this.clock.nowMs()).toISOString();
    const conditions = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => ({ type, status: 'True', reason: type, message: '', lastTransitionTime: now }));
    await this.kube.patch({ resource: kubeResources.nodeClaims, name: claimName }, { type: 'merge', body: { status: { providerID: providerId, nodeName: name, conditions } } }, { subresource: 'status' });
    const node = await this.kube.create(kubeResources.nodes, {
      metadata: { name, finalizers: [terminationFinalizer], labels: { ...parts.metadata.labels, 'karpenter.sh/registered': 'true', 'karpenter.sh/initialized': 'true' }, annotations: options.nodeAnnotations ?? {} },
      spec: { providerID: providerId },
    });
    const size = { cpu: options.cpu ?? '4', memory: '16Gi', pods: '50' };
    await this.kube.patch({ resource: kubeResources.nodes, name }, { type: 'merge', body: { status: { capacity: size, allocatable: size, conditions: [{ type: 'Ready', status: 'True' }] } } }, { subresource: 'status' });
    return { name, claimName, instanceId, nodeUid: node.metadata.uid ?? '' };
  }

  async #launch(capacityType: 'on-demand' | 'spot'): Promise<string> {
    this.#made += 1;
    if (!this.#templateReady) {
      const imageId = await this.cloud.parameter('/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id');
      const { endpoint, certificateAuthority } = this.twin.cluster();
      const script = `#!/bin/bash -xe\n/etc/eks/bootstrap.sh '${clusterName}' --apiserver-endpoint '${endpoint}' --b64-cluster-ca '${certificateAuthority}'\n`;
      await this.cloud.ensureLaunchTemplate({
        name: 'one', imageId: imageId ?? '', userDataBase64: Buffer.from(script).toString('base64'), instanceProfileName: `KarpenterNodeInstanceProfile-${clusterName}`,
        securityGroupIds: this.twin.world.securityGroups.map(({ id }) => id), blockDevices: [], metadataOptions: {}, detailedMonitoring: false, tags: {},
      });
      this.#templateReady = true;
    }
    const kubeSystem = await this.kube.get({ resource: kubeResources.namespaces, name: 'kube-system' });
    const outcome = await this.cloud.createFleet({
      clientToken: `token-${String(this.#made)}`, capacityType, count: 1, allocation: 'lowest-price',
      tags: { 'eks:eks-cluster-name': clusterName, 'dovetail.sh/cluster-uid': kubeSystem?.metadata.uid ?? '', 'dovetail.sh/launch-intent': `intent-${String(this.#made)}` },
      configs: [{ launchTemplateName: 'one', overrides: this.twin.world.subnets.map(({ id, zone }) => ({ instanceType: 'm5.large', subnetId: id, zone })) }],
    });
    const id = outcome.instances[0]?.id;
    if (id === undefined) throw new Error(`no instance: ${JSON.stringify(outcome.errors)}`);
    return id;
  }

  /** An instance with our tags that belongs to nobody. */
  strayInstance(): Promise<string> { return this.#launch('on-demand'); }

  /** Keeps so many pods of the app running: makes those that are missing and puts them on open nodes. */
  scale(app: string, replicas: number): void { this.#replicas.set(app, replicas); }

  async budget(app: string, minAvailable: number): Promise<void> {
    this.#budgets.set(app, minAvailable);
    await this.kube.create(kubeResources.podDisruptionBudgets, { metadata: { name: `${app}-pdb`, namespace: 'default' }, spec: { minAvailable, selector: { matchLabels: { app } } } });
  }

  pod(name: string, app: string, more: { readonly annotations?: Readonly<Record<string, string>>; readonly owner?: string; readonly spec?: object } = {}): Promise<KubeObject> {
    return this.kube.create(kubeResources.pods, {
      metadata: {
        name, namespace: 'default', labels: { app }, annotations: more.annotations ?? {},
        ownerReferences: [{ apiVersion: 'apps/v1', kind: more.owner ?? 'ReplicaSet', name: app, uid: `owner-${app}`, controller: true }],
      },
      spec: { terminationGracePeriodSeconds: 3, containers: [{ name: 'main', image: 'pause:3.9', resources: { requests: { cpu: '1' } } }], ...more.spec },
    });
  }

  async bind(name: string, nodeName: string): Promise<void> {
    const pod = this.find(kubeResources.pods, name);
    await this.kube.bind({ namespace: 'default', name, uid: pod?.metadata.uid ?? '' }, nodeName);
    await this.kube.patch({ resource: kubeResources.pods, namespace: 'default', name }, { type: 'merge', body: { status: { phase: 'Running', startTime: new Date(this.clock.nowMs()).toISOString(), conditions: [{ type: 'Ready', status: 'True' }, { type: 'PodScheduled', status: 'True' }] } } }, { subresource: 'status' });
  }

  async #life(): Promise<void> {
    while (!this.#stop.aborted) {
      await this.#kubelets();
      await this.#workloads();
      await this.#budgetStatus();
      await this.clock.sleep(500, this.#stop);
    }
  }

  readonly #endingSince = new Map<string, number>();

  /** A kubelet ends its terminating pods; a machine that is gone has none, and its node turns NotReady, as the node controller says. */
  async #kubelets(): Promise<void> {
    const alive = new Set(this.runningInstances());
    const nodes = new Map(this.list(kubeResources.nodes).map((node) => [node.metadata.name, node]));
    const runs = (node: KubeObject | undefined): boolean => node !== undefined && alive.has(String((node['spec'] as { providerID?: string }).providerID).split('/').at(-1) ?? '');
    for (const [name, node] of nodes) {
      const ready = JSON.stringify((node['status'] as { conditions?: unknown } | undefined)?.conditions ?? '').includes('"status":"True"');
      if (ready && !runs(node)) await this.kube.patch({ resource: kubeResources.nodes, name }, { type: 'merge', body: { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } } }, { subresource: 'status' });
    }
    for (const pod of this.list(kubeResources.pods)) {
      const nodeName = (pod['spec'] as { nodeName?: string }).nodeName;
      const node = nodeName === undefined ? undefined : nodes.get(nodeName);
      const orphaned = nodeName !== undefined && node === undefined;
      const uid = pod.metadata.uid ?? '';
      if (pod.metadata.deletionTimestamp !== undefined && !this.#endingSince.has(uid)) this.#endingSince.set(uid, this.clock.nowMs());
      const ended = runs(node) && this.clock.nowMs() - (this.#endingSince.get(uid) ?? Infinity) >= 1_000;
      if (ended || orphaned) await this.kube.delete({ resource: kubeResources.pods, namespace: 'default', name: pod.metadata.name }, { uid, gracePeriodSeconds: 0 });
    }
  }

  async #workloads(): Promise<void> {
    for (const [app, wanted] of this.#replicas) {
      const pods = this.list(kubeResources.pods).filter((pod) => pod.metadata.labels?.['app'] === app && pod.metadata.deletionTimestamp === undefined);
      for (let missing = pods.length; missing < wanted; missing += 1) {
        this.#made += 1;
        await this.pod(`${app}-${String(this.#made)}`, app);
      }
      for (const pod of pods.slice(wanted)) await this.kube.delete({ resource: kubeResources.pods, namespace: 'default', name: pod.metadata.name });
    }
    for (const pod of this.list(kubeResources.pods)) {
      const { nodeName, schedulingGates } = pod['spec'] as { nodeName?: string; schedulingGates?: unknown[] };
      if (nodeName === undefined && (schedulingGates ?? []).length === 0) await this.#schedule(pod);
    }
  }

  async #schedule(pod: KubeObject): Promise<void> {
    const on = (name: string): number => this.list(kubeResources.pods).filter((other) => (other['spec'] as { nodeName?: string }).nodeName === name).length;
    const open = this.list(kubeResources.nodes).find((node) => {
      const spec = node['spec'] as { taints?: unknown[]; unschedulable?: boolean };
      const cpu = Number(((node['status'] as { allocatable?: { cpu?: string } } | undefined)?.allocatable?.cpu) ?? 0);
      return (spec.taints ?? []).length === 0 && spec.unschedulable !== true && node.metadata.deletionTimestamp === undefined && JSON.stringify(node['status']).includes('"status":"True"') && on(node.metadata.name) < cpu;
    });
    if (open !== undefined) await this.bind(pod.metadata.name, open.metadata.name);
  }

  #healthy(app: string): number {
    return this.list(kubeResources.pods).filter((pod) => pod.metadata.labels?.['app'] === app && pod.metadata.deletionTimestamp === undefined
      && JSON.stringify((pod['status'] as { conditions?: unknown } | undefined)?.conditions ?? '').includes('"type":"Ready","status":"True"')).length;
  }

  async #budgetStatus(): Promise<void> {
    for (const [app, minAvailable] of this.#budgets) {
      const ref = { resource: kubeResources.podDisruptionBudgets, namespace: 'default', name: `${app}-pdb` };
      const budget = await this.kube.get(ref);
      const currentHealthy = this.#healthy(app);
      const status = { observedGeneration: budget?.metadata.generation ?? 1, currentHealthy, desiredHealthy: minAvailable, disruptionsAllowed: Math.max(0, currentHealthy - minAvailable), expectedPods: currentHealthy };
      const held = budget?.['status'] as Record<string, unknown> | undefined;
      if (Object.entries(status).some(([key, value]) => held?.[key] !== value)) await this.kube.patch(ref, { type: 'merge', body: { status } }, { subresource: 'status' });
    }
  }

  readonly #wasHealthy = new Set<string>();
  #checkBudgets(): void {
    for (const [app, minAvailable] of this.#budgets) {
      const healthy = this.#healthy(app);
      if (healthy >= minAvailable) this.#wasHealthy.add(app);
      else if (this.#wasHealthy.has(app) && (this.#replicas.get(app) ?? 0) >= minAvailable) this.broken.push(`${String(this.seconds())} s: ${app} has ${String(healthy)} of ${String(minAvailable)} pods`);
    }
  }
}
