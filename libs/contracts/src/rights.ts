import type { StreamSpec, WorkerSpec } from '@dovetail/core-ports';

import { type DecisionKind, type StateKind, stateKinds } from './messages.js';
import {
  deadLetterSpec,
  streamName,
  type StreamRole,
  streamSpecs,
  subjects,
  workers,
} from './subjects.js';

/**
 * Who connects to the bus. `reader` is anyone who may read decisions, and nothing else. `console`
 * also follows the state feed, which names every pod and node, and writes nothing either. `sinks`
 * reads decisions as a reader does, and keeps those that it cannot deliver in a stream of its own.
 * `streams` makes all streams and does nothing else: who may change a stream may have the server
 * write into any other.
 */
export const busRoles = [
  'pod-watcher',
  'solver',
  'launcher',
  'reaper',
  'reader',
  'console',
  'sinks',
  'streams',
] as const;
/** A client of the bus, by the part that it plays. */
export type BusRole = (typeof busRoles)[number];

/** All that one role may do on the bus of one cluster. Everything else is denied. */
export type BusRights = {
  /** Streams that it makes, and changes when they differ from their specification. */
  readonly makes: readonly StreamSpec[];
  /** Streams whose configuration and position it asks for. */
  readonly sees: readonly string[];
  /** Streams that it reads in order. */
  readonly follows: readonly string[];
  /**
   * Streams that any client of NATS may read, with consumers of each kind that it makes, looks at
   * and deletes. Consumers have no owner: it may delete those of others on the same stream, too.
   */
  readonly consumes: readonly string[];
  /** Streams of which it reads single messages. */
  readonly reads: readonly string[];
  /** Queues that it takes work from. */
  readonly works: readonly WorkerSpec[];
  /** Queues whose lag it asks for. */
  readonly measures: readonly WorkerSpec[];
  /** Subjects that it publishes on; `>` stands for every end. */
  readonly publishes: readonly string[];
  /** Subjects on which it asks another service. */
  readonly asks: readonly string[];
  /** Subjects on which it answers. */
  readonly serves: readonly string[];
  /** Subjects that it listens to as messages are published, without a stream. */
  readonly hears: readonly string[];
  /** The first tokens of the subjects on which it receives answers, its own alone. */
  readonly inbox: string;
};

/** The kinds of state that the launcher publishes. pod-watcher publishes the others. */
const launcherKinds: ReadonlySet<StateKind> = new Set(['promise', 'verdict', 'admission']);

/** The kinds of decisions that each role tells (docs/reference/events-and-metrics.md). */
const toldBy: Readonly<Record<BusRole, readonly DecisionKind[]>> = {
  'pod-watcher': [],
  solver: ['plan', 'unschedulable'],
  launcher: [
    'plan',
    'admit',
    'refuse',
    'unschedulable',
    'launch',
    'launch-failed',
    'register',
    'initialize',
  ],
  reaper: ['command', 'disrupt', 'interrupt', 'drain', 'terminate', 'collect', 'gap'],
  reader: [],
  console: [],
  sinks: [],
  streams: [],
};

/** The roles that write no message of the services. */
const readOnly: ReadonlySet<BusRole> = new Set(['reader', 'console', 'sinks', 'streams']);

const nothing: Omit<BusRights, 'inbox'> = {
  makes: [],
  sees: [],
  follows: [],
  consumes: [],
  reads: [],
  works: [],
  measures: [],
  publishes: [],
  asks: [],
  serves: [],
  hears: [],
};

/**
 * The first tokens of the subjects on which a role receives answers. Each role has its own, because
 * whoever may subscribe to an inbox reads what was meant for another.
 */
export const inboxOf = (cluster: string, role: BusRole): string =>
  `_INBOX_dovetail.${cluster}.${role}`;

/**
 * The rights of a role on the bus of a cluster. The configuration of nats-server is made from
 * them, and the tests of every lab run under them.
 */
export function busRights(cluster: string, role: BusRole): BusRights {
  const ofRole: Readonly<Record<BusRole, (cluster: string) => Partial<BusRights>>> = {
    'pod-watcher': podWatcher,
    solver,
    launcher,
    reaper,
    reader,
    console: consoleRights,
    sinks: sinksRights,
    streams: streamsRights,
  };
  const own = ofRole[role](cluster);
  const told = toldBy[role].map((kind) => subjects.decisionsOfKind(cluster, kind));
  // Any message over the limit of one travels through this stream.
  const large = readOnly.has(role) ? [] : [subjects.blobAll(cluster)];
  return {
    ...nothing,
    ...own,
    reads: role === 'streams' ? [] : [...(own.reads ?? []), streamName(cluster, 'blobs')],
    publishes: [...(own.publishes ?? []), ...told, ...large],
    inbox: inboxOf(cluster, role),
  };
}

const streams = (cluster: string, ...roles: readonly StreamRole[]): readonly string[] =>
  roles.map((role) => streamName(cluster, role));

const podWatcher = (cluster: string): Partial<BusRights> => ({
  sees: streamSpecs(cluster).map(({ name }) => name),
  follows: streams(cluster, 'state', 'catalog'),
  reads: streams(cluster, 'state'),
  publishes: [
    ...stateKinds
      .filter((kind) => !launcherKinds.has(kind))
      .map((kind) => subjects.stateOfKind(cluster, kind)),
    subjects.pendingAll(cluster),
  ],
});

const solver = (cluster: string): Partial<BusRights> => ({
  sees: streamSpecs(cluster).map(({ name }) => name),
  follows: streams(cluster, 'state', 'catalog'),
  works: [workers.solvers(cluster)],
  publishes: [subjects.planAll(cluster), subjects.recordAll(cluster)],
  serves: [subjects.planner(cluster, 'plan'), subjects.planner(cluster, 'explain')],
});

const launcher = (cluster: string): Partial<BusRights> => ({
  sees: streamSpecs(cluster).map(({ name }) => name),
  follows: streams(cluster, 'state', 'catalog', 'decisions'),
  reads: streams(cluster, 'state'),
  works: [workers.launcher(cluster)],
  publishes: [
    ...[...launcherKinds].map((kind) => subjects.stateOfKind(cluster, kind)),
    subjects.catalogAll(cluster),
  ],
});

const reaper = (cluster: string): Partial<BusRights> => ({
  follows: streams(cluster, 'state', 'catalog'),
  // The plan of a command is published by the reaper itself, once its nodes are marked.
  publishes: [subjects.unavailableAll(cluster), subjects.planAll(cluster)],
  asks: [subjects.planner(cluster, 'plan')],
});

const reader = (cluster: string): Partial<BusRights> => ({
  follows: streams(cluster, 'decisions'),
  consumes: streams(cluster, 'decisions'),
  // Dead letters hold bytes that the sinks chose. A copy of a single message names its origin; a
  // consumer's would not.
  sees: streams(cluster, 'deadletters'),
  reads: streams(cluster, 'records', 'deadletters'),
  measures: [workers.solvers(cluster)],
  hears: [subjects.decisionAll(cluster)],
});

/**
 * A right of its own, because the state feed says more than decisions do: whoever may read
 * decisions need not see every pod.
 */
const consoleRights = (cluster: string): Partial<BusRights> => ({
  follows: streams(cluster, 'state', 'decisions'),
  measures: [workers.solvers(cluster)],
});

/**
 * Its consumers are named by people's settings, so it has the rights of any client on the stream.
 */
const sinksRights = (cluster: string): Partial<BusRights> => ({
  sees: streams(cluster, 'deadletters'),
  consumes: streams(cluster, 'decisions'),
  publishes: [subjects.deadLetterAll(cluster)],
});

const streamsRights = (cluster: string): Partial<BusRights> => ({
  makes: [...streamSpecs(cluster), deadLetterSpec(cluster)],
});
