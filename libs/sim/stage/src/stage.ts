import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { deflateRawSync, inflateRawSync } from 'node:zlib';

import { type Channel, streamSpecs } from '@dovetail/contracts';
import {
  type Bus,
  type Cloud,
  type Hash,
  type InterruptionQueue,
  type KubeApi,
  type KubeObject,
  type KubeResource,
  kubeResources,
  type Packing,
} from '@dovetail/core-ports';
import { memoryBus, MemoryBusServer } from '@dovetail/sim-bus';
import {
  accountFor,
  type CloudSettings,
  type CloudTwin,
  createCloud,
  inProcessCloud,
  type Machine,
  type TwinType,
} from '@dovetail/sim-cloud';
import {
  type BootedInstance,
  type ControllerOptions,
  createKubeStore,
  createNodeAgent,
  inProcessKube,
  type KubeStore,
  type NodeAgent,
  type NodeAgentOptions,
  startKubeControllers,
} from '@dovetail/sim-kube';

import { bootedInstance } from './booted-instance.js';
import { type StageClock, stageClock } from './clock.js';
import { crdFiles, customResourceDefinitions } from './definitions.js';
import { type LogEntry, RecordingLog, RecordingMetrics } from './recording.js';

/** The cluster's name in subjects, tags and user data. */
export const clusterName = 'lab';

/** The region of every stage. */
export const region = 'us-west-2';
/** The start time of every stage, unless a test gives another. */
export const startMs = Date.UTC(2026, 10, 21, 12);

/** Packs text as services do. */
export const packing: Packing = {
  pack: (text) => deflateRawSync(text),
  unpack: (bytes) => inflateRawSync(bytes).toString('utf8'),
};

/** SHA-256 by Node's crypto module. */
export const hash: Hash = { sha256Hex: (text) => createHash('sha256').update(text).digest('hex') };

/** The parts of a stage that differ from the defaults. */
export type StageOptions = {
  /** Milliseconds since 1970. Default `startMs`. */
  readonly startMs?: number;
  /** Zones of the region that have subnets, as letters. Default a and b. */
  readonly zones?: readonly string[];
  /** The types that EC2 sells. Default: the whole catalog of the region. */
  readonly types?: readonly TwinType[];
  readonly cloud?: Partial<CloudSettings>;
  /** The value of the tag `kubernetes.io/cluster/lab` of subnets and groups. Default `owned`. */
  readonly clusterTagValue?: string;
  /** Runs kube-scheduler and the controllers beside the API server. Default: none of them. */
  readonly controlPlane?: ControllerOptions;
  /** The speed of the kubelets. */
  readonly kubelets?: Partial<NodeAgentOptions>;
  /** Changes what the kubelet of a machine reports of it. */
  readonly reports?: (instance: BootedInstance) => BootedInstance;
  /** Whether a machine that boots now becomes a node. Default: it does. */
  readonly joins?: (machine: Machine) => boolean;
  /** Which files of deploy/crds are installed. Default: all. */
  readonly crds?: (file: string) => boolean;
};

/**
 * A test cluster in one process: the twins of Kubernetes, EC2 and the bus under one virtual clock.
 * Machines boot as nodes and run pods. Services get its ports. Nothing moves until `advance`,
 * `pass` or `until` lets time pass.
 */
export class Stage {
  readonly clock: StageClock;
  readonly store: KubeStore;
  readonly kube: KubeApi;
  readonly twin: CloudTwin;
  readonly cloud: Cloud & InterruptionQueue;
  readonly server: MemoryBusServer;
  /** A connection of the test's own. Each service gets one from `connect`. */
  readonly bus: Bus;
  readonly channel: Channel;
  readonly log: RecordingLog;
  readonly metrics = new RecordingMetrics();
  /** Raised at the end; everything on the stage stops with it. */
  readonly stop = new AbortController();
  readonly agent: NodeAgent;
  readonly #options: StageOptions;
  readonly #nodeNames = new Map<string, string>();
  #stopControlPlane: () => void = () => undefined;

  constructor(options: StageOptions = {}) {
    this.#options = options;
    // One signal ends everything on the stage, so many listen.
    setMaxListeners(0, this.stop.signal);
    this.clock = stageClock(options.startMs ?? startMs);
    this.store = createKubeStore({ clock: this.clock, seed: 1 });
    this.kube = inProcessKube(this.store);
    this.twin = createCloud({
      clock: this.clock,
      seed: 'stage',
      account: accountFor(region, {
        clusterName,
        zones: options.zones ?? ['a', 'b'],
        ...(options.types === undefined ? {} : { types: options.types }),
        ...(options.clusterTagValue === undefined
          ? {}
          : { clusterTagValue: options.clusterTagValue }),
      }),
      settings: options.cloud ?? {},
    });
    this.cloud = inProcessCloud(this.twin);
    this.server = new MemoryBusServer(this.clock);
    this.bus = memoryBus(this.server);
    this.log = new RecordingLog(() => this.clock.nowMs());
    this.channel = { bus: this.bus, cluster: clusterName, hash, source: 'test', clock: this.clock };
    this.agent = createNodeAgent({ kube: this.kube, clock: this.clock, ...options.kubelets });
  }

  /** Installs the definitions, makes the streams, and starts the kubelets and the control plane. */
  async begin(): Promise<this> {
    await this.installCrds(this.#options.crds);
    await this.bus.ensureStreams(streamSpecs(clusterName));
    const { controlPlane } = this.#options;
    if (controlPlane !== undefined)
      this.#stopControlPlane = startKubeControllers(this.store, controlPlane).stop;
    void this.agent.run(this.stop.signal);
    this.twin.onBoot((machine) => this.#boot(machine));
    this.twin.onTerminate((machine) => this.agent.halt(this.nodeNameOf(machine)));
    return this;
  }

  /** Stops everything, including services that were given `stop`. */
  end(): void {
    this.stop.abort();
    this.#stopControlPlane();
    this.twin.close();
  }

  async installCrds(wanted: (file: string) => boolean = () => true): Promise<void> {
    for (const { file, object } of crdFiles())
      if (wanted(file)) await this.kube.create(customResourceDefinitions, object);
  }

  /** A service's own connection to the bus. */
  connect(): Bus {
    return memoryBus(this.server);
  }

  /** A channel over a connection of its own. */
  channelOf(source: string, bus = this.connect()): Channel & { readonly bus: Bus } {
    return { ...this.channel, bus, source };
  }

  // Time.

  /** Lets this much time pass. */
  advance(durationMs: number): Promise<void> {
    return this.clock.advance(durationMs);
  }

  /**
   * Lets this many seconds pass in steps, or fewer, until the look returns true. Returns whether it
   * did.
   */
  async pass(seconds: number, until: () => boolean = () => false, stepMs = 500): Promise<boolean> {
    for (let passedMs = 0; passedMs < seconds * 1_000; passedMs += stepMs) {
      if (until()) return true;
      await this.clock.advance(stepMs);
    }
    return until();
  }

  /**
   * Lets time pass until the look returns a value, and returns it. Throws, with the last log lines,
   * after ten minutes (or `withinMs`) without one.
   */
  async until<T>(
    what: string,
    look: () => Promise<T | undefined | false> | T | undefined | false,
    withinMs = 600_000,
  ): Promise<T> {
    const endMs = this.clock.nowMs() + withinMs;
    for (;;) {
      await this.clock.advance(0);
      const found = await look();
      if (found !== undefined && found !== false) return found;
      if (this.clock.nowMs() >= endMs)
        throw new Error(`waited for ${what} in vain; last:\n${this.#lastLines()}`);
      await this.clock.advance(untilStepMs);
    }
  }

  /** Seconds since the stage began. */
  seconds(): number {
    return (this.clock.nowMs() - (this.#options.startMs ?? startMs)) / 1_000;
  }

  // Looking.

  /** Log entries of this name. */
  said(name: string): readonly LogEntry[] {
    return this.log.entries.filter((entry) => entry.name === name);
  }

  list(resource: KubeResource): readonly KubeObject[] {
    const type = this.store.type(resource.group, resource.version, resource.plural);
    return this.store.list(type).items;
  }

  names(resource: KubeResource): readonly string[] {
    return this.list(resource)
      .map(({ metadata }) => metadata.name)
      .sort();
  }

  find(resource: KubeResource, name: string): KubeObject | undefined {
    return this.list(resource).find(({ metadata }) => metadata.name === name);
  }

  /** Messages of the Events with this reason. */
  events(reason: string): readonly string[] {
    return this.list(kubeResources.events)
      .filter((event) => event['reason'] === reason)
      .map((event) => String(event['message']));
  }

  /** Ids of the instances that run or are starting. */
  runningInstances(): readonly string[] {
    return this.twin.instances
      .all()
      .filter(({ state }) => state === 'pending' || state === 'running')
      .map(({ id }) => id)
      .sort();
  }

  // Machines.

  /**
   * The name that a machine registers under: EC2's private DNS name, unless the test gave another.
   */
  nodeNameOf(machine: Machine): string {
    return this.#nodeNames.get(machine.instanceId) ?? machine.privateDnsName;
  }

  /** Boots the machine of an instance at once, under this name. */
  bootAs(nodeName: string, instance: Omit<BootedInstance, 'nodeName'>): void {
    const instanceId = instance.providerId.split('/').at(-1) ?? '';
    this.#nodeNames.set(instanceId, nodeName);
    this.agent.boot({ ...instance, nodeName });
  }

  #boot(machine: Machine): void {
    if (this.#options.joins?.(machine) === false) return;
    const facts = this.twin.types.get(machine.instanceType)?.facts;
    const instance = bootedInstance(machine, facts);
    if (instance === undefined) return;
    const reported = this.#options.reports?.(instance) ?? instance;
    this.agent.boot({ ...reported, nodeName: this.nodeNameOf(machine) });
  }

  #lastLines(): string {
    return this.log.lines
      .slice(-15)
      .map((line) => line.slice(0, 300))
      .join('\n');
  }
}

const untilStepMs = 50;
