import { compareText } from '@dovetail/core-kube-model';
import type { Ec2Filter, Instance } from '@dovetail/core-ports';

import { AwsFault, notFound } from '../foundation/aws-fault.js';
import { hexOf } from '../foundation/digest.js';
import { admitted, tagFilterValues } from '../foundation/filters.js';
import type { CloudSettings } from '../foundation/settings.js';
import type { Timeline } from '../foundation/timeline.js';
import type { Place } from './capacity.js';
import type { Address } from './network.js';
import type { LaunchedVolume } from './volumes.js';

/** EC2's states of an instance, from pending to terminated. */
export type InstanceState = Instance['state'];

/** The properties of an instance that hold from its launch on. */
export type InstanceOrder = {
  readonly instanceType: string;
  readonly zone: string;
  readonly subnetId: string;
  readonly capacityType: 'on-demand' | 'spot';
  readonly imageId: string;
  readonly arch: 'amd64' | 'arm64';
  readonly vcpus: number;
  readonly securityGroupIds: readonly string[];
  readonly tags: Readonly<Record<string, string>>;
  readonly userData?: string;
  readonly profileArn?: string;
  readonly monitoring: boolean;
  readonly fleetId?: string;
  readonly clientToken?: string;
  readonly templateId?: string;
  readonly templateVersion?: number;
  readonly metadataOptions: Readonly<Record<string, string>>;
  readonly tenancy: 'default' | 'dedicated';
  readonly address: Address;
  readonly place: Place;
  readonly volumes: readonly LaunchedVolume[];
  /** The tags that all of its volumes are made with. */
  readonly volumeTags: Readonly<Record<string, string>>;
};

/** An instance now. Treat as read-only outside this module. */
export type TwinInstance = InstanceOrder & {
  readonly id: string;
  readonly launchedMs: number;
  readonly privateDnsName: string;
  readonly spotRequestId?: string;
  state: InstanceState;
  stateReason?: StateReason;
  tags: Readonly<Record<string, string>>;
  /** The tags of volumes that were tagged later, by the volume's id. */
  readonly tagsByVolume: Map<string, Readonly<Record<string, string>>>;
  endedMs?: number;
  /** The status checks that DescribeInstanceStatus reports, and since when they hold. */
  health: {
    readonly system: HealthStatus;
    readonly instance: HealthStatus;
    readonly sinceMs: number;
  };
  scheduledEvents: readonly {
    readonly id: string;
    readonly code: string;
    readonly notBeforeMs: number;
  }[];
};

/** The outcome of EC2's status checks. */
export type HealthStatus = 'ok' | 'impaired' | 'initializing' | 'insufficient-data';

/** A change of state, as StopInstances and TerminateInstances answer it. */
export type StateChange = {
  readonly id: string;
  readonly previous: InstanceState;
  readonly current: InstanceState;
};

/** A change in an instance's life, reported to the twin. */
export type LifeEvent = {
  readonly kind: 'launched' | 'running' | 'booting' | 'stopping' | 'ended';
  readonly instance: TwinInstance;
};

type Deps = {
  readonly timeline: Timeline;
  readonly seed: string;
  readonly region: string;
  readonly settings: CloudSettings;
  readonly tell: (event: LifeEvent) => void;
};

/** Numeric codes that EC2 gives with each state. */
export const stateCodes: Readonly<Record<InstanceState, number>> = {
  pending: 0,
  running: 16,
  'shutting-down': 32,
  terminated: 48,
  stopping: 64,
  stopped: 80,
};

const userRequest = {
  code: 'Client.UserInitiatedShutdown',
  message: 'Client.UserInitiatedShutdown: User initiated shutdown',
};

const privateDns = (ip: string, region: string): string =>
  `ip-${ip.replaceAll('.', '-')}.${region === 'us-east-1' ? 'ec2.internal' : `${region}.compute.internal`}`;

const filterNames: ReadonlySet<string> = new Set([
  'instance-id',
  'instance-type',
  'instance-state-name',
  'instance-state-code',
  'instance-lifecycle',
  'availability-zone',
  'subnet-id',
  'image-id',
  'private-dns-name',
  'private-ip-address',
  'client-token',
  'architecture',
  'network-interface.subnet-id',
  'instance.group-id',
  'iam-instance-profile.arn',
]);

function filterValue(instance: TwinInstance, name: string): readonly string[] | undefined {
  switch (name) {
    case 'instance-id':
      return [instance.id];
    case 'instance-type':
      return [instance.instanceType];
    case 'instance-state-name':
      return [instance.state];
    case 'instance-state-code':
      return [String(stateCodes[instance.state])];
    case 'instance-lifecycle':
      return instance.capacityType === 'spot' ? ['spot'] : [];
    case 'availability-zone':
      return [instance.zone];
    case 'subnet-id':
    case 'network-interface.subnet-id':
      return [instance.subnetId];
    case 'image-id':
      return [instance.imageId];
    case 'private-dns-name':
      return [instance.privateDnsName];
    case 'private-ip-address':
      return [instance.address.ip];
    case 'client-token':
      return instance.clientToken === undefined ? [] : [instance.clientToken];
    case 'architecture':
      return [instance.arch === 'amd64' ? 'x86_64' : 'arm64'];
    case 'instance.group-id':
      return instance.securityGroupIds;
    case 'iam-instance-profile.arn':
      return instance.profileArn === undefined ? [] : [instance.profileArn];
    default:
      return tagFilterValues(instance.tags, name);
  }
}

/**
 * Throws InvalidInstanceID.Malformed for malformed ids. EC2 distinguishes them from ids that do not
 * exist.
 */
function checkInstanceIds(ids: readonly string[]): void {
  const malformed = ids.filter((id) => !/^i-[0-9a-f]{8}([0-9a-f]{9})?$/.test(id));
  if (malformed.length > 0)
    throw new AwsFault('InvalidInstanceID.Malformed', `Invalid id: "${malformed.join('", "')}"`);
}

function createInstance(deps: Deps, order: InstanceOrder, number: number): TwinInstance {
  const id = `i-${hexOf(17, deps.seed, 'instance', number)}`;
  return {
    ...order,
    id,
    launchedMs: deps.timeline.nowMs(),
    privateDnsName: privateDns(order.address.ip, deps.region),
    state: 'pending',
    tagsByVolume: new Map(),
    ...(order.capacityType === 'spot'
      ? { spotRequestId: `sir-${hexOf(8, deps.seed, 'sir', number)}` }
      : {}),
    health: { system: 'initializing', instance: 'initializing', sinceMs: deps.timeline.nowMs() },
    scheduledEvents: [],
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
  timeline.after(Math.max(settings.bootDelayMs, settings.runningDelayMs), () => {
    if (instance.state === 'running') tell({ kind: 'booting', instance });
  });
}

const isOver = (instance: TwinInstance): boolean =>
  instance.state === 'shutting-down' || instance.state === 'terminated';

function endOne(
  { timeline, settings, tell }: Deps,
  instance: TwinInstance,
  reason: StateReason,
): StateChange {
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
  if (isOver(instance)) {
    throw new AwsFault(
      'IncorrectInstanceState',
      `This instance '${instance.id}' is not in a state from which it can be stopped.`,
    );
  }
  const previous = instance.state;
  if (previous === 'stopping' || previous === 'stopped')
    return { id: instance.id, previous, current: previous };
  instance.state = 'stopping';
  tell({ kind: 'stopping', instance });
  timeline.after(settings.shutdownDelayMs, () => {
    if (instance.state !== 'stopping') return;
    instance.state = 'stopped';
    tell({ kind: 'ended', instance });
  });
  return { id: instance.id, previous, current: 'stopping' };
}

/** Selects instances for a describe. */
export type InstanceQuery = {
  readonly ids?: readonly string[];
  readonly filters: readonly Ec2Filter[];
};

/** Why an instance ends, as DescribeInstances reports it. */
export type StateReason = { readonly code: string; readonly message: string };

/** The instances of the account and their lives in time. */
export class Instances {
  readonly #deps: Deps;
  readonly #instances = new Map<string, TwinInstance>();
  #launched = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  get(id: string): TwinInstance {
    const instance = this.#instances.get(id);
    if (instance === undefined) throw notFound('InvalidInstanceID.NotFound', 'instance', [id]);
    return instance;
  }

  launch(order: InstanceOrder): TwinInstance {
    this.#launched += 1;
    const instance = createInstance(this.#deps, order, this.#launched);
    this.#instances.set(instance.id, instance);
    this.#deps.tell({ kind: 'launched', instance });
    planLife(this.#deps, instance);
    return instance;
  }

  /** Every instance, visible or not. Tests only. */
  all(): readonly TwinInstance[] {
    return [...this.#instances.values()];
  }

  /** The instances that reads may see now, by id. */
  describe({ ids = [], filters }: InstanceQuery): readonly TwinInstance[] {
    const found =
      ids.length > 0
        ? this.#visible(ids)
        : this.all()
            .filter((instance) => this.#exists(instance))
            .sort((left, right) => compareText(left.id, right.id));
    return admitted(
      found,
      filters,
      (instance) => (name) => filterValue(instance, name),
      filterNames,
    );
  }

  /** Ends instances. Ends none when one of the ids does not exist, as EC2 does. */
  terminate(ids: readonly string[], reason: StateReason = userRequest): readonly StateChange[] {
    return this.#visible(ids).map((instance) => endOne(this.#deps, instance, reason));
  }

  /** AWS itself ends the instance, whether reads see it or not. */
  reclaim(id: string, reason: StateReason): StateChange {
    return endOne(this.#deps, this.get(id), reason);
  }

  /** Stops an instance without ending it. */
  stop(id: string): StateChange {
    return stopOne(this.#deps, this.get(id));
  }

  retag(id: string, change: (tags: InstanceOrder['tags']) => InstanceOrder['tags']): boolean {
    const [instance] = this.#visible([id]);
    if (instance !== undefined) instance.tags = change(instance.tags);
    return instance !== undefined;
  }

  /** The vCPUs of pending and running instances, which Service Quotas count. */
  vcpusInUse(capacityType: 'on-demand' | 'spot'): number {
    return this.all()
      .filter((one) => one.capacityType === capacityType)
      .filter(({ state }) => state === 'pending' || state === 'running')
      .reduce((sum, { vcpus }) => sum + vcpus, 0);
  }

  #exists(instance: TwinInstance): boolean {
    const { timeline, settings } = this.#deps;
    const nowMs = timeline.nowMs();
    return (
      nowMs - instance.launchedMs >= settings.consistencyMs &&
      (instance.endedMs === undefined || nowMs - instance.endedMs < settings.terminatedVisibleMs)
    );
  }

  #visible(ids: readonly string[]): readonly TwinInstance[] {
    checkInstanceIds(ids);
    const found = [...new Set(ids)].map((id) => ({ id, instance: this.#instances.get(id) }));
    const missing = found
      .filter(({ instance }) => instance === undefined || !this.#exists(instance))
      .map(({ id }) => id);
    if (missing.length > 0) throw notFound('InvalidInstanceID.NotFound', 'instance', missing);
    return found.flatMap(({ instance }) => instance ?? []);
  }
}
