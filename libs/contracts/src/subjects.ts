import { type PoolIdentity } from '@dovetail/core-api';
import type { StreamSpec, WorkerSpec } from '@dovetail/core-ports';

import { limits } from './limits.js';
import type { DecisionKind, StateKind, StateRecord, UnavailableOffering } from './messages.js';

/** Names that are their own token: UIDs of Kubernetes, most cluster names. */
const ownToken = /^[A-Za-z0-9_-]*$/;

/**
 * One token of a subject. Letters, digits, `-` and `_` stand for themselves. Every other character
 * becomes its UTF-8 bytes as `%XX`, so that `m5.large` is one token and no name can hold a
 * wildcard.
 */
export function subjectToken(name: string): string {
  // Each event of a watch names a subject, so the common case is cheap.
  if (ownToken.test(name)) return name;
  const encoded = encodeURIComponent(name.replace(/\p{Surrogate}/gu, '\u{fffd}'));
  return encoded.replace(
    /[.!~*'()]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The name that a token stands for. Undefined when it is not a token of `subjectToken`. */
export function nameOfToken(token: string): string | undefined {
  try {
    return decodeURIComponent(token);
  } catch {
    return undefined;
  }
}

/**
 * A pool's token: a NodePool's name, `provisioner~<name>` for a Provisioner, `-` for none. No name
 * can hold a `~`.
 */
const poolToken = (pool: PoolIdentity | undefined): string => {
  if (pool === undefined) return '-';
  return pool.kind === 'NodePool'
    ? subjectToken(pool.name)
    : `provisioner~${subjectToken(pool.name)}`;
};

const root = (cluster: string): string => `dovetail.${subjectToken(cluster)}`;
const offeringToken = (
  offering: Pick<UnavailableOffering, 'instanceType' | 'zone' | 'capacityType'>,
): string => subjectToken(`${offering.instanceType}/${offering.zone}/${offering.capacityType}`);

/** Every subject. No other code spells one. */
export const subjects = {
  state: (cluster: string, kind: StateKind, uid: string) =>
    `${root(cluster)}.state.v1.${kind}.${subjectToken(uid)}`,
  stateOfKind: (cluster: string, kind: StateKind) => `${root(cluster)}.state.v1.${kind}.>`,
  stateAll: (cluster: string) => `${root(cluster)}.state.v1.>`,
  pending: (cluster: string, group: string) => `${root(cluster)}.pending.v1.${subjectToken(group)}`,
  pendingAll: (cluster: string) => `${root(cluster)}.pending.v1.>`,
  plan: (cluster: string, group: string) => `${root(cluster)}.plan.v1.${subjectToken(group)}`,
  planAll: (cluster: string) => `${root(cluster)}.plan.v1.>`,
  classCatalog: (cluster: string, classUid: string, part: number) =>
    `${root(cluster)}.catalog.v1.class.${subjectToken(classUid)}.${String(part)}`,
  unavailable: (
    cluster: string,
    offering: Pick<UnavailableOffering, 'instanceType' | 'zone' | 'capacityType'>,
  ) => `${root(cluster)}.catalog.v1.unavailable.${offeringToken(offering)}`,
  unavailableAll: (cluster: string) => `${root(cluster)}.catalog.v1.unavailable.*`,
  catalogAll: (cluster: string) => `${root(cluster)}.catalog.v1.>`,
  decision: (cluster: string, kind: DecisionKind, pool?: PoolIdentity) =>
    `${root(cluster)}.decision.v1.${kind}.${poolToken(pool)}`,
  decisionsOfKind: (cluster: string, kind: DecisionKind) =>
    `${root(cluster)}.decision.v1.${kind}.>`,
  decisionAll: (cluster: string) => `${root(cluster)}.decision.v1.>`,
  planner: (cluster: string, mode: PlannerMode) => `${root(cluster)}.planner.v1.${mode}`,
  blobPart: (cluster: string, id: string, part: number) =>
    `${root(cluster)}.blob.v1.${subjectToken(id)}.${String(part)}`,
  blobAll: (cluster: string) => `${root(cluster)}.blob.v1.>`,
  planRecord: (cluster: string, planId: string) =>
    `${root(cluster)}.record.v1.plan.${subjectToken(planId)}`,
  planRecordAll: (cluster: string) => `${root(cluster)}.record.v1.plan.*`,
  recordPart: (cluster: string, id: string) =>
    `${root(cluster)}.record.v1.part.${subjectToken(id)}`,
  recordAll: (cluster: string) => `${root(cluster)}.record.v1.>`,
  deadLetter: (cluster: string, sink: string, kind: string) =>
    `${root(cluster)}.deadletter.v1.${subjectToken(sink)}.${subjectToken(kind)}`,
  deadLetterAll: (cluster: string) => `${root(cluster)}.deadletter.v1.>`,
} as const;

/**
 * `plan`: answers with a plan, and sends it to the launcher if the request asks for that
 * (`commit`). `explain`: the same answer, which is never sent.
 */
export type PlannerMode = 'plan' | 'explain';

/** The subject that a record of the state feed belongs to. */
export const subjectOfRecord = (cluster: string, record: StateRecord): string =>
  subjects.state(
    cluster,
    record.kind === 'gone' ? record.stateKind : record.state.kind,
    record.uid,
  );

/** The purpose of a stream. */
export type StreamRole =
  'state' | 'pending' | 'plans' | 'catalog' | 'decisions' | 'blobs' | 'records' | 'deadletters';

/**
 * A stream's name. It holds the cluster's name, because one NATS account may carry several
 * clusters.
 */
export const streamName = (cluster: string, role: StreamRole): string =>
  `DOVETAIL_${role.toUpperCase()}_${subjectToken(cluster)}`;

/**
 * The streams that every cluster has. Roles that may (`busRights`) make the missing ones. Writers
 * and readers are listed in docs/contracts.md. Parts of large messages have a stream of their own,
 * so that queues and the public decisions never carry them.
 */
export function streamSpecs(cluster: string): readonly StreamSpec[] {
  const named = (
    role: StreamRole,
    subject: string,
    rest: Omit<StreamSpec, 'name' | 'subjects' | 'duplicateWindowMs'>,
  ): StreamSpec => ({
    name: streamName(cluster, role),
    subjects: [subject],
    duplicateWindowMs: limits.duplicateWindowMs,
    ...rest,
  });
  const log = (role: StreamRole, subject: string, maxAgeMs: number, maxBytes: number) =>
    named(role, subject, { keep: 'log', maxAgeMs, maxBytes });
  const work = (role: StreamRole, subject: string, maxBytes: number) =>
    named(role, subject, { keep: 'work', maxAgeMs: limits.workAgeMs, maxBytes });
  const { stateBytesMax, catalogBytesMax, decisionAgeMs, blobAgeMs } = limits;
  const recordAgeMs = limits.recordAgeMs + limits.recordPartAgeMs;
  return [
    named('state', subjects.stateAll(cluster), { keep: 'last', maxBytes: stateBytesMax }),
    work('pending', subjects.pendingAll(cluster), limits.pendingBytesMax),
    work('plans', subjects.planAll(cluster), limits.plansBytesMax),
    named('catalog', subjects.catalogAll(cluster), { keep: 'last', maxBytes: catalogBytesMax }),
    log('decisions', subjects.decisionAll(cluster), decisionAgeMs, limits.decisionsBytesMax),
    log('blobs', subjects.blobAll(cluster), blobAgeMs, limits.blobsBytesMax),
    // Last, so that no other stream lacks the storage that it takes.
    {
      ...log('records', subjects.recordAll(cluster), recordAgeMs, limits.recordsBytesMax),
      isOptional: true,
    },
  ];
}

/**
 * The stream of decisions that a sink could not deliver. The sinks make it; no other part needs it.
 */
export const deadLetterSpec = (cluster: string): StreamSpec => ({
  name: streamName(cluster, 'deadletters'),
  subjects: [subjects.deadLetterAll(cluster)],
  keep: 'log',
  maxAgeMs: limits.deadLetterAgeMs,
  maxBytes: limits.deadLettersBytesMax,
  duplicateWindowMs: limits.duplicateWindowMs,
});

/**
 * The consumer of a sink. It reads all decisions, so that a change of its filters moves no place.
 */
export const sinkWorker = (
  cluster: string,
  sink: { readonly name: string; readonly inFlightMax: number; readonly from: 'first' | 'now' },
): WorkerSpec => ({
  stream: streamName(cluster, 'decisions'),
  name: `sink-${subjectToken(sink.name)}`,
  ackWaitMs: limits.ackWaitMs,
  inFlightMax: sink.inFlightMax,
  from: sink.from,
});

/** The one consumer of each queue. */
export const workers = {
  solvers: (cluster: string): WorkerSpec => ({
    stream: streamName(cluster, 'pending'),
    name: 'solvers',
    ackWaitMs: limits.ackWaitMs,
    inFlightMax: limits.inFlightMax,
    filter: subjects.pendingAll(cluster),
  }),
  launcher: (cluster: string): WorkerSpec => ({
    stream: streamName(cluster, 'plans'),
    name: 'launcher',
    ackWaitMs: limits.ackWaitMs,
    inFlightMax: limits.inFlightMax,
    filter: subjects.planAll(cluster),
  }),
} as const;
