import type { Ec2Filter, Instance } from '@dovetail/core-ports';
import { byCodeUnits, hexOf } from './digest.js';
import { AwsFault, notFound } from './fault.js';
import { admitted, tagFilterValues } from './filters.js';
import type { Place } from './capacity.js';
import type { Address } from './network.js';
import type { CloudSettings } from './settings.js';
import type { Timeline } from './timeline.js';

export type InstanceState = Instance['state'];

/** What an instance is from its launch on. */
export type InstanceOrder = {
  readonly instanceType: string; readonly zone: string; readonly subnetId: string; readonly capacityType: 'on-demand' | 'spot';
  readonly imageId: string; readonly arch: 'amd64' | 'arm64'; readonly vcpus: number; readonly securityGroupIds: readonly string[];
  readonly tags: Readonly<Record<string, string>>; readonly userData?: string; readonly profileArn?: string; readonly monitoring: boolean;
  readonly fleetId?: string; readonly clientToken?: string; readonly templateId?: string; readonly templateVersion?: number;
  readonly metadataOptions: Readonly<Record<string, string>>;
  readonly address: Address; readonly place: Place;
};

/** An instance now. Treat as read-only outside this module. */
export type TwinInstance = InstanceOrder & {
  readonly id: string; readonly launchedMs: number; readonly privateDnsName: string; readonly spotRequestId?: string;
  state: InstanceState; stateReason?: { readonly code: string; readonly message: string };
  tags: Readonly<Record<string, string>>;
  endedMs?: number;
  /** What DescribeInstanceStatus tells; since when it has been so. */
  health: { readonly system: HealthStatus; readonly instance: HealthStatus; readonly sinceMs: number };
  scheduledEvents: readonly { readonly id: string; readonly code: string; readonly notBeforeMs: number }[];
};
export type HealthStatus = 'ok' | 'impaired' | 'initializing' | 'insufficient-data';

export type StateChange = { readonly id: string; readonly previous: InstanceState; readonly current: InstanceState };

/** A turn in an instance's life, told to whoever plays the machines. */
export type LifeEvent = { readonly kind: 'launched' | 'running' | 'booting' | 'stopping' | 'ended'; readonly instance: TwinInstance };

export type Instances = {
  launch(order: InstanceOrder): TwinInstance;
  /** Every instance, visible or not; tests only. */
  all(): readonly TwinInstance[];
  /** Those that reads may see now, by id. */
  describe(query: { readonly ids?: readonly string[]; readonly filters: readonly Ec2Filter[] }): readonly TwinInstance[];
  /** Ends instances; nothing is ended when one of the ids does not exist, as in EC2. */
  terminate(ids: readonly string[], reason?: { readonly code: string; readonly message: string }): readonly StateChange[];
  /** AWS itself ends the instance, seen or not. */
  reclaim(id: string, reason: { readonly code: string; readonly message: string }): StateChange;
  /** Stops an instance without ending it. */
  stop(id: string): StateChange;
  tag(id: string, tags: Readonly<Record<string, string>>): boolean;
  get(id: string): TwinInstance;
  vcpusInUse(capacityType: 'on-demand' | 'spot'): number;
};

type Deps = {
  readonly timeline: Timeline; readonly seed: string; readonly region: string;
  readonly settings: CloudSettings; readonly tell: (event: LifeEvent) => void;
};

/** Numeric codes that EC2 gives with each state. */
export const stateCodes: Readonly<Record<InstanceState, number>> = { pending: 0, running: 16, 'shutting-down': 32, terminated: 48, stopping: 64, stopped: 80 };

const userRequest = { code: 'Client.UserInitiatedShutdown', message: 'Client.UserInitiatedShutdown: User initiated shutdown' };

const privateDns = (ip: string, region: string): string =>
  `ip-${ip.replaceAll('.', '-')}.${region === 'us-east-1' ? 'ec2.internal' : `${region}.compute.internal`}`;

const filterNames: ReadonlySet<string> = new Set([
  'instance-id', 'instance-type', 'instance-state-name', 'instance-state-code', 'instance-lifecycle', 'availability-zone', 'subnet-id', 'image-id',
  'private-dns-name', 'private-ip-address', 'client-token', 'architecture', 'network-interface.subnet-id', 'instance.group-id', 'iam-instance-profile.arn',
]);

function filterValue(instance: TwinInstance, name: string): readonly string[] | undefined {
  switch (name) {
    case 'instance-id': return [instance.id];
    case 'instance-type': return [instance.instanceType];
    case 'instance-state-name': return [instance.state];
    case 'instance-state-code': return [String(stateCodes[instance.state])];
    case 'instance-lifecycle': return instance.capacityType === 'spot' ? ['spot'] : [];
    case 'availability-zone': return [instance.zone];
    case 'subnet-id': case 'network-interface.subnet-id': return [instance.subnetId];
    case 'image-id': return [instance.imageId];
    case 'private-dns-name': return [instance.privateDnsName];
    case 'private-ip-address': return [instance.address.ip];
    case 'client-token': return instance.clientToken === undefined ? [] : [instance.clientToken];
    case 'architecture': return [instance.arch === 'amd64' ? 'x86_64' : 'arm64'];
    case 'instance.group-id': return instance.securityGroupIds;
    case 'iam-instance-profile.arn': return instance.profileArn === undefined ? [] : [instance.profileArn];
    default: return tagFilterValues(instance.tags, name);
  }
}

/** Refuses ids that do not look like one: EC2 tells them apart from those that do not exist. */
export function checkInstanceIds(ids: readonly string[]): void {
  const malformed = ids.filter((id) => !/^i-[0-9a-f]{8}([0-9a-f]{9})?$/.test(id));
  if (malformed.length > 0) throw new AwsFault('InvalidInstanceID.Malformed', `Invalid id: "${malformed.join('", "')}"`);
}

function createInstance(deps: Deps, order: InstanceOrder, number: number): TwinInstance {
  const id = `i-${hexOf(17, deps.seed, 'instance', number)}`;
  return {
    ...order, id, launchedMs: deps.timeline.nowMs(), privateDnsName: privateDns(order.address.ip, deps.region), state: 'pending',
    ...(order.capacityType === 'spot' ? { spotRequestId: `sir-${hexOf(8, deps.seed, 'sir', number)}` } : {}),
    health: { system: 'initializing', instance: 'initializing', sinceMs: deps.timeline.nowMs() }, scheduledEvents: [],
  };
}

/** pending → running → booting, unless something ends the instance meanwhile. */
function planLife({ timeline, settings, tell }: Deps, instance: TwinInstance): void {
  timeline.after(settings.runningDelayMs, () => {
    if (instance.state !== 'pending') return;
    instance.state = 'running';
    instance.health = { system: 'ok', instance: 'ok', sinceMs: timeline.nowMs() };
    tell({ kind: 'running', instance });
  });
  timeline.after(Math.max(settings.bootDelayMs, settings.runningDelayMs), () => { if (instance.state === 'running') tell({ kind: 'booting', instance }); });
}

const isOver = (instance: TwinInstance): boolean => instance.state === 'shutting-down' || instance.state === 'terminated';

function endOne({ timeline, settings, tell }: Deps, instance: TwinInstance, reason: { readonly code: string; readonly message: string }): StateChange {
  const previous = instance.state;
  if (isOver(instance)) return { id: instance.id, previous, current: previous };
  instance.state = 'shutting-down';
  instance.stateReason = reason;
  tell({ kind: 'stopping', instance });
  timeline.after(settings.shutdownDelayMs, () => {
    instance.state = 'terminated';
    instance.endedMs = timeline.nowMs();
    instance.address.release();
    instance.place.release();
    tell({ kind: 'ended', instance });
  });
  return { id: instance.id, previous, current: 'shutting-down' };
}

function stopOne({ timeline, settings, tell }: Deps, instance: TwinInstance): StateChange {
  if (instance.state !== 'running' && instance.state !== 'pending') {
    throw new AwsFault('IncorrectInstanceState', `This instance '${instance.id}' is not in a state from which it can be stopped.`);
  }
  const previous = instance.state;
  instance.state = 'stopping';
  tell({ kind: 'stopping', instance });
  timeline.after(settings.shutdownDelayMs, () => {
    if (instance.state !== 'stopping') return;
    instance.state = 'stopped';
    tell({ kind: 'ended', instance });
  });
  return { id: instance.id, previous, current: 'stopping' };
}

function existing(instance: TwinInstance | undefined, id: string): TwinInstance {
  if (instance === undefined) throw notFound('InvalidInstanceID.NotFound', 'instance', [id]);
  return instance;
}

/** The instances of the account and their lives in time. */
export function createInstances(deps: Deps): Instances {
  const { timeline, settings } = deps;
  const instances = new Map<string, TwinInstance>();
  let launched = 0;
  const exists = (instance: TwinInstance): boolean => timeline.nowMs() - instance.launchedMs >= settings.consistencyMs
    && (instance.endedMs === undefined || timeline.nowMs() - instance.endedMs < settings.terminatedVisibleMs);
  const visible = (ids: readonly string[]): readonly TwinInstance[] => {
    checkInstanceIds(ids);
    const found = [...new Set(ids)].map((id) => ({ id, instance: instances.get(id) }));
    const missing = found.filter(({ instance }) => instance === undefined || !exists(instance)).map(({ id }) => id);
    if (missing.length > 0) throw notFound('InvalidInstanceID.NotFound', 'instance', missing);
    return found.flatMap(({ instance }) => instance ?? []);
  };
  const get = (id: string): TwinInstance => existing(instances.get(id), id);
  return {
    get,
    launch(order) {
      const instance = createInstance(deps, order, (launched += 1));
      instances.set(instance.id, instance);
      deps.tell({ kind: 'launched', instance });
      planLife(deps, instance);
      return instance;
    },
    all: () => [...instances.values()],
    describe: ({ ids = [], filters }) => admitted(
      ids.length > 0 ? visible(ids) : [...instances.values()].filter(exists).sort((left, right) => byCodeUnits(left.id, right.id)),
      filters, (instance) => (name) => filterValue(instance, name), filterNames),
    terminate: (ids, reason = userRequest) => visible(ids).map((instance) => endOne(deps, instance, reason)),
    reclaim: (id, reason) => endOne(deps, get(id), reason),
    stop: (id) => stopOne(deps, get(id)),
    tag(id, tags) {
      const [instance] = visible([id]);
      if (instance !== undefined) instance.tags = { ...instance.tags, ...tags };
      return instance !== undefined;
    },
    vcpusInUse: (capacityType) => [...instances.values()].reduce((sum, instance) =>
      instance.capacityType === capacityType && (instance.state === 'pending' || instance.state === 'running') ? sum + instance.vcpus : sum, 0),
  };
}
