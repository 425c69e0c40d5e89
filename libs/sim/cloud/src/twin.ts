import type { Clock } from '@dovetail/core-ports';
import { createCapacity, type Capacity, type CapacityOrder } from './capacity.js';
import { uuidOf } from './digest.js';
import { AwsFault } from './fault.js';
import { createFleets, type Fleets } from './fleet.js';
import { checkTags } from './fleet-request.js';
import { createGate, documentedBuckets, type Gate } from './gate.js';
import { createIam, type Iam } from './iam.js';
import { createImages, type Images } from './images.js';
import { createInstances, type HealthStatus, type Instances, type LifeEvent, type TwinInstance } from './instances.js';
import { createLaunchTemplates, type LaunchTemplates } from './launch-templates.js';
import { machineReader, type Machine } from './machine.js';
import { createNetwork, type Network } from './network.js';
import { noticeJson, type Notice } from './notices.js';
import { createQueue, type TwinQueue } from './queue.js';
import type { CloudSettings } from './settings.js';
import { createTimeline, type Timeline } from './timeline.js';
import type { TwinCluster, TwinType, World } from './world.js';

/** What happened to a machine. `booted`: the kubelet would now contact the API server, if `machine.boot` says it joins. `stopping`: the machine goes down. */
export type CloudEvent = { readonly sequence: number; readonly atMs: number; readonly kind: 'launched' | 'running' | 'booted' | 'stopping' | 'ended'; readonly machine: Machine };

/** An AWS account in one region, in memory. The parts hold the semantics of each service; `gate` is what a call passes first. */
export type CloudTwin = {
  readonly seed: string;
  readonly world: World;
  readonly settings: CloudSettings;
  readonly timeline: Timeline;
  readonly types: ReadonlyMap<string, TwinType>;
  readonly gate: Gate;
  readonly capacity: Capacity;
  readonly network: Network;
  readonly images: Images;
  readonly templates: LaunchTemplates;
  readonly instances: Instances;
  readonly fleets: Fleets;
  readonly iam: Iam;
  readonly queue: TwinQueue;
  cluster(): TwinCluster;
  setCluster(change: Partial<Omit<TwinCluster, 'name'>>): void;
  setCapacity(order: CapacityOrder): void;
  /** Lets time pass at once for everything in the twin. */
  advance(durationMs: number): void;
  /** Puts a notice into the queue as EventBridge would. */
  notify(notice: Notice): void;
  /** Warns of a Spot interruption and ends the instance when the notice is over. */
  interrupt(instanceId: string, noticeMs?: number): void;
  /** Makes a status check fail, or pass again. */
  setHealth(instanceId: string, health: { readonly system?: HealthStatus; readonly instance?: HealthStatus }): void;
  /** Announces a scheduled event (instance-retirement, system-reboot …) in DescribeInstanceStatus and as a Health event. */
  scheduleEvent(instanceId: string, code: string): void;
  /** CreateTags: on instances, launch templates, subnets, security groups; all of them or, when one does not exist, none. */
  tag(ids: readonly string[], tags: Readonly<Record<string, string>>): void;
  machine(instanceId: string): Machine;
  subscribe(listener: (event: CloudEvent) => void): () => void;
  onBoot(listener: (machine: Machine) => void): () => void;
  /** Told when a machine goes down: it is shutting down, stopping, or reclaimed. */
  onTerminate(listener: (machine: Machine) => void): () => void;
  /** Events after a sequence number, oldest first; the last ten thousand are kept. */
  eventsSince(sequence: number): readonly CloudEvent[];
  close(): void;
};

export type CloudOptions = { readonly clock: Clock; readonly seed: string; readonly world: World; readonly settings?: Partial<CloudSettings> };

/** Fast enough for tests and the lab, in the order that life has them. */
export const defaultSettings: CloudSettings = {
  consistencyMs: 300, launchTemplateConsistencyMs: 0, profileConsistencyMs: 0,
  runningDelayMs: 400, bootDelayMs: 1_500, shutdownDelayMs: 800, terminatedVisibleMs: 3_600_000,
  interruptionNoticeMs: 120_000, queueRetentionMs: 300_000, limits: documentedBuckets, overridesPerFleetMax: 300, vcpuQuota: {},
};

const eventsKept = 10_000;
const eventKinds = { launched: 'launched', running: 'running', booting: 'booted', stopping: 'stopping', ended: 'ended' } as const;

type Stream = { tell(kind: CloudEvent['kind'], machine: Machine): void; subscribe: CloudTwin['subscribe']; since: CloudTwin['eventsSince'] };

/** A listener that throws is a bug of the listener's: it is thrown where the process sees it, not into the twin. */
function createStream(timeline: Timeline): Stream {
  const listeners = new Set<(event: CloudEvent) => void>();
  let kept: CloudEvent[] = [];
  let sequence = 0;
  return {
    tell(kind, machine) {
      const event: CloudEvent = { sequence: (sequence += 1), atMs: timeline.nowMs(), kind, machine };
      kept.push(event);
      if (kept.length > 2 * eventsKept) kept = kept.slice(-eventsKept);
      for (const listener of [...listeners]) {
        try { listener(event); } catch (error) { queueMicrotask(() => { throw error; }); }
      }
    },
    subscribe: (listener) => { listeners.add(listener); return () => { listeners.delete(listener); }; },
    since: (after) => kept.filter((event) => event.sequence > after),
  };
}

function notifier(deps: { readonly timeline: Timeline; readonly world: World; readonly seed: string; readonly queue: TwinQueue }): (notice: Notice) => void {
  let told = 0;
  const { accountId, region } = deps.world;
  return (notice) => { deps.queue.send(noticeJson(notice, { accountId, region, nowMs: deps.timeline.nowMs(), id: uuidOf(deps.seed, 'notice', (told += 1)) })); };
}

type Acts = Pick<CloudTwin, 'interrupt' | 'setHealth' | 'scheduleEvent'>;

function createActs(deps: { readonly timeline: Timeline; readonly seed: string; readonly settings: CloudSettings; readonly instances: Instances; readonly notify: (notice: Notice) => void }): Acts {
  const { timeline, instances, notify } = deps;
  const spotEnd = { code: 'Server.SpotInstanceTermination', message: 'Server.SpotInstanceTermination: Instance terminated due to Spot interruption' };
  return {
    interrupt(id, noticeMs = deps.settings.interruptionNoticeMs) {
      const instance = instances.get(id);
      if (instance.capacityType !== 'spot') throw new AwsFault('InvalidParameterValue', `${id} is not a Spot instance; only those are interrupted`);
      notify({ kind: 'spot-interruption', instanceId: id });
      timeline.after(noticeMs, () => { if (instance.state !== 'terminated') instances.reclaim(id, spotEnd); });
    },
    setHealth(id, health) {
      const instance = instances.get(id);
      instance.health = { system: health.system ?? instance.health.system, instance: health.instance ?? instance.health.instance, sinceMs: timeline.nowMs() };
    },
    scheduleEvent(id, code) {
      const instance = instances.get(id);
      const event = { id: `instance-event-${uuidOf(deps.seed, id, code).replaceAll('-', '').slice(0, 17)}`, code, notBeforeMs: timeline.nowMs() + 14 * 86_400_000 };
      instance.scheduledEvents = [...instance.scheduledEvents, event];
      notify({ kind: 'scheduled-change', instanceIds: [id], eventTypeCode: `AWS_EC2_${code.toUpperCase().replaceAll('-', '_')}_SCHEDULED` });
    },
  };
}

function tagAll(parts: Pick<CloudTwin, 'instances' | 'templates' | 'network'>, ids: readonly string[], tags: Readonly<Record<string, string>>): void {
  checkTags(tags);
  const ofInstances = ids.filter((id) => id.startsWith('i-'));
  if (ofInstances.length > 0) parts.instances.describe({ ids: ofInstances, filters: [] });
  for (const id of ids) {
    const done = id.startsWith('i-') ? parts.instances.tag(id, tags) : parts.templates.tag(id, tags) || parts.network.tag(id, tags);
    if (!done) throw new AwsFault('InvalidID', `The ID '${id}' is not valid`);
  }
}

type Parts = Pick<CloudTwin, 'capacity' | 'network' | 'images' | 'templates' | 'iam' | 'queue' | 'types' | 'timeline' | 'gate' | 'settings' | 'seed' | 'world'>;

function createParts({ clock, seed, world, settings: changed }: CloudOptions): Parts {
  const settings = { ...defaultSettings, ...changed };
  const timeline = createTimeline(clock);
  return {
    seed, world, settings, timeline,
    types: new Map(world.types.map((type) => [type.facts.name, type])),
    gate: createGate(timeline, settings.limits),
    capacity: createCapacity(), network: createNetwork(world),
    images: createImages({ timeline, region: world.region, accountId: world.accountId }),
    templates: createLaunchTemplates({ timeline, seed, consistencyMs: settings.launchTemplateConsistencyMs }),
    iam: createIam({ timeline, world, profileConsistencyMs: settings.profileConsistencyMs }),
    queue: createQueue({ timeline, seed, name: world.queueName, retentionMs: settings.queueRetentionMs }),
  };
}

/** Makes the twin. Equal seed, world and calls at equal times give equal ids, prices and events. */
export function createCloud(options: CloudOptions): CloudTwin {
  const parts = createParts(options);
  const { timeline, settings, seed, world } = parts;
  let cluster = world.cluster;
  const stream = createStream(timeline);
  const notify = notifier(parts);
  const read = machineReader({ images: parts.images, types: parts.types, world: () => ({ ...world, cluster }) });
  const tell = (event: LifeEvent): void => {
    notify({ kind: 'state-change', instanceId: event.instance.id, state: event.instance.state });
    stream.tell(eventKinds[event.kind], read(event.instance));
  };
  const told = (event: LifeEvent): void => { if (event.kind === 'booting') stream.tell('booted', read(event.instance)); else tell(event); };
  const instances = createInstances({ timeline, seed, region: world.region, settings, tell: told });
  const listen = (kind: CloudEvent['kind']) => (listener: (machine: Machine) => void) => stream.subscribe((event) => { if (event.kind === kind) listener(event.machine); });
  return {
    ...parts, instances, notify,
    ...createActs({ timeline, seed, settings, instances, notify }),
    fleets: createFleets({ ...parts, instances }),
    cluster: () => cluster,
    setCluster: (change) => { cluster = { ...cluster, ...change }; },
    setCapacity: (order) => { parts.capacity.set(order); },
    advance: (durationMs) => { timeline.advance(durationMs); },
    tag: (ids, tags) => { tagAll({ ...parts, instances }, ids, tags); },
    machine: (id) => read(instances.get(id)),
    subscribe: stream.subscribe, eventsSince: stream.since,
    onBoot: listen('booted'), onTerminate: listen('stopping'),
    close: () => { timeline.close(); },
  };
}

export type { TwinInstance };
