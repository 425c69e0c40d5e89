import type { Clock } from '@dovetail/core-ports';

import type { Account, TwinCluster, TwinType } from '../foundation/account.js';
import { AwsFault } from '../foundation/aws-fault.js';
import { uuidOf } from '../foundation/digest.js';
import { documentedBuckets, Gate } from '../foundation/gate.js';
import type { CloudSettings } from '../foundation/settings.js';
import { SpotMarket } from '../foundation/spot-market.js';
import { Timeline } from '../foundation/timeline.js';
import { Capacity, type CapacityOrder } from '../parts/capacity.js';
import { Fleets } from '../parts/fleets.js';
import { Iam } from '../parts/iam.js';
import { Identities } from '../parts/identities.js';
import { Images } from '../parts/images.js';
import {
  type HealthStatus,
  Instances,
  type LifeEvent,
  type TwinInstance,
} from '../parts/instances.js';
import { LaunchTemplates } from '../parts/launch-templates.js';
import { Network } from '../parts/network.js';
import { type Notice, noticeJson } from '../parts/notices.js';
import { TwinQueue } from '../parts/queue.js';
import { type CloudEvent, EventStream } from './event-stream.js';
import { hourlyPriceOf } from './instance-price.js';
import { type Machine, machineReader } from './machine.js';
import { tagAll, type TagToDelete, untagAll } from './tagging.js';

/**
 * An AWS account in one region, in memory. Each part holds the semantics of one service. Every call
 * passes the gate first.
 */
export type CloudTwin = {
  readonly seed: string;
  readonly account: Account;
  readonly settings: CloudSettings;
  readonly timeline: Timeline;
  readonly types: ReadonlyMap<string, TwinType>;
  readonly gate: Gate;
  readonly capacity: Capacity;
  readonly market: SpotMarket;
  readonly network: Network;
  readonly images: Images;
  readonly templates: LaunchTemplates;
  readonly instances: Instances;
  readonly fleets: Fleets;
  readonly iam: Iam;
  readonly identities: Identities;
  readonly queue: TwinQueue;
  cluster(): TwinCluster;
  setCluster(change: Partial<Omit<TwinCluster, 'name'>>): void;
  setCapacity(order: CapacityOrder): void;
  /** From now on a new instance is missing from reads for this long (`consistencyMs`). */
  setConsistency(durationMs: number): void;
  /** The price of an instance now, in micro-dollars an hour. Undefined for a type without one. */
  hourlyPriceOf(instanceId: string): number | undefined;
  /** Lets time pass at once for everything in the twin. */
  advance(durationMs: number): void;
  /** Puts a notice into the queue as EventBridge would. */
  notify(notice: Notice): void;
  /** Warns of a Spot interruption, then ends the instance after `noticeMs`. */
  interrupt(instanceId: string, noticeMs?: number): void;
  /** Makes a status check fail, or pass again. */
  setHealth(
    instanceId: string,
    health: { readonly system?: HealthStatus; readonly instance?: HealthStatus },
  ): void;
  /**
   * Announces a scheduled event (instance-retirement, system-reboot …) in DescribeInstanceStatus
   * and as a Health event.
   */
  scheduleEvent(instanceId: string, code: string): void;
  /**
   * CreateTags on instances, volumes, templates, subnets and groups. Tags none when one does not
   * exist.
   */
  tag(ids: readonly string[], tags: Readonly<Record<string, string>>): void;
  /** DeleteTags on the same: the named tags, or all that are not AWS' own. */
  untag(ids: readonly string[], tags?: readonly TagToDelete[]): void;
  machine(instanceId: string): Machine;
  subscribe(listener: (event: CloudEvent) => void): () => void;
  onBoot(listener: (machine: Machine) => void): () => void;
  /** Calls the listener when a machine goes down: it shuts down, stops, or is reclaimed. */
  onTerminate(listener: (machine: Machine) => void): () => void;
  /** Events after a sequence number, oldest first. At least the last ten thousand are kept. */
  eventsSince(sequence: number): readonly CloudEvent[];
  close(): void;
};

/** The account to simulate, and the clock and seed that make it repeatable. */
export type CloudOptions = {
  readonly clock: Clock;
  readonly seed: string;
  readonly account: Account;
  readonly settings?: Partial<CloudSettings>;
};

/** Fast enough for tests and the lab. The delays keep the order that they have on AWS. */
const defaultSettings: CloudSettings = {
  consistencyMs: 300,
  launchTemplateConsistencyMs: 0,
  profileConsistencyMs: 0,
  runningDelayMs: 400,
  bootDelayMs: 1_500,
  shutdownDelayMs: 800,
  terminatedVisibleMs: 3_600_000,
  interruptionNoticeMs: 120_000,
  queueRetentionMs: 300_000,
  limits: documentedBuckets,
  overridesPerFleetMax: 300,
  vcpuQuota: {},
};

const eventKinds = {
  launched: 'launched',
  running: 'running',
  booting: 'booted',
  stopping: 'stopping',
  ended: 'ended',
} as const;

function notifier(deps: {
  readonly timeline: Timeline;
  readonly account: Account;
  readonly seed: string;
  readonly queue: TwinQueue;
}): (notice: Notice) => void {
  let told = 0;
  const { accountId, region } = deps.account;
  return (notice) => {
    deps.queue.send(
      noticeJson(notice, {
        accountId,
        region,
        nowMs: deps.timeline.nowMs(),
        id: uuidOf(deps.seed, 'notice', (told += 1)),
      }),
    );
  };
}

const spotEnd = {
  code: 'Server.SpotInstanceTermination',
  message: 'Server.SpotInstanceTermination: Instance terminated due to Spot interruption',
};

type Acts = Pick<CloudTwin, 'interrupt' | 'setHealth' | 'scheduleEvent'>;
type ActDeps = {
  readonly timeline: Timeline;
  readonly seed: string;
  readonly settings: CloudSettings;
  readonly instances: Instances;
  readonly notify: (notice: Notice) => void;
};

function interrupt({ timeline, instances, notify }: ActDeps, id: string, noticeMs: number): void {
  const instance = instances.get(id);
  if (instance.capacityType !== 'spot')
    throw new AwsFault(
      'InvalidParameterValue',
      `${id} is not a Spot instance; only those are interrupted`,
    );
  notify({ kind: 'spot-interruption', instanceId: id });
  timeline.after(noticeMs, () => {
    if (instance.state !== 'terminated') instances.reclaim(id, spotEnd);
  });
}

// EC2 announces instance retirements two weeks ahead.
const eventNoticeMs = 14 * 86_400_000;

function scheduleEvent(deps: ActDeps, id: string, code: string): void {
  const instance = deps.instances.get(id);
  const event = {
    id: `instance-event-${uuidOf(deps.seed, id, code).replaceAll('-', '').slice(0, 17)}`,
    code,
    notBeforeMs: deps.timeline.nowMs() + eventNoticeMs,
  };
  instance.scheduledEvents = [...instance.scheduledEvents, event];
  deps.notify({
    kind: 'scheduled-change',
    instanceIds: [id],
    eventTypeCode: `AWS_EC2_${code.toUpperCase().replaceAll('-', '_')}_SCHEDULED`,
  });
}

const actsOf = (deps: ActDeps): Acts => ({
  interrupt: (id, noticeMs = deps.settings.interruptionNoticeMs) => interrupt(deps, id, noticeMs),
  scheduleEvent: (id, code) => scheduleEvent(deps, id, code),
  setHealth: (id, health) => {
    const instance = deps.instances.get(id);
    const { system = instance.health.system, instance: own = instance.health.instance } = health;
    instance.health = { system, instance: own, sinceMs: deps.timeline.nowMs() };
  },
});

type Parts = Pick<
  CloudTwin,
  | 'capacity'
  | 'market'
  | 'network'
  | 'images'
  | 'templates'
  | 'iam'
  | 'identities'
  | 'queue'
  | 'types'
  | 'timeline'
  | 'gate'
  | 'settings'
  | 'seed'
  | 'account'
>;

function createParts({ clock, seed, account, settings: changed }: CloudOptions): Parts {
  const settings = { ...defaultSettings, ...changed };
  const timeline = new Timeline(clock);
  const { region, accountId } = account;
  return {
    seed,
    account,
    settings,
    timeline,
    types: new Map(account.types.map((type) => [type.facts.name, type])),
    gate: new Gate(timeline, settings.limits),
    capacity: new Capacity(),
    market: new SpotMarket(seed),
    network: new Network(account),
    images: new Images({ timeline, region, accountId }),
    templates: new LaunchTemplates({
      timeline,
      seed,
      consistencyMs: settings.launchTemplateConsistencyMs,
    }),
    iam: new Iam({ timeline, account, profileConsistencyMs: settings.profileConsistencyMs }),
    identities: new Identities(account),
    queue: new TwinQueue({
      timeline,
      seed,
      name: account.queueName,
      retentionMs: settings.queueRetentionMs,
    }),
  };
}

/**
 * Tells the queue and the listeners what happens to instances. Booting is no state, so no notice.
 */
const lifeTeller =
  (
    stream: EventStream,
    notify: (notice: Notice) => void,
    read: (instance: TwinInstance) => Machine,
  ) =>
  ({ kind, instance }: LifeEvent): void => {
    if (kind !== 'booting')
      notify({ kind: 'state-change', instanceId: instance.id, state: instance.state });
    stream.tell(eventKinds[kind], read(instance));
  };

/**
 * Creates a twin. Equal seed, account and calls at equal times give equal ids, prices and events.
 */
export function createCloud(options: CloudOptions): CloudTwin {
  const parts = createParts(options);
  const { timeline, settings, seed, account } = parts;
  let cluster = account.cluster;
  const stream = new EventStream(timeline);
  const notify = notifier(parts);
  const read = machineReader({
    images: parts.images,
    types: parts.types,
    account: () => ({ ...account, cluster }),
  });
  const tell = lifeTeller(stream, notify, read);
  const instances = new Instances({ timeline, seed, region: account.region, settings, tell });
  return {
    ...parts,
    instances,
    notify,
    hourlyPriceOf: (id) => hourlyPriceOf(parts, instances.get(id)),
    ...actsOf({ timeline, seed, settings, instances, notify }),
    fleets: new Fleets({ ...parts, instances }),
    cluster: () => cluster,
    setCluster: (change) => {
      cluster = { ...cluster, ...change };
    },
    setCapacity: (order) => parts.capacity.set(order),
    // The settings are this twin's own copy.
    setConsistency: (consistencyMs) => void Object.assign(settings, { consistencyMs }),
    advance: (durationMs) => timeline.advance(durationMs),
    tag: (ids, tags) => tagAll({ ...parts, instances }, ids, tags),
    untag: (ids, tags) => untagAll({ ...parts, instances }, ids, tags),
    machine: (id) => read(instances.get(id)),
    subscribe: (listener) => stream.subscribe(listener),
    eventsSince: (sequence) => stream.since(sequence),
    onBoot: (listener) => stream.on('booted', listener),
    onTerminate: (listener) => stream.on('stopping', listener),
    close: () => timeline.close(),
  };
}

export type { CloudEvent, TwinInstance };
