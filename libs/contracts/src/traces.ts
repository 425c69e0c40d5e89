import { compareText } from '@dovetail/core-kube-model';
import type { Hash, Headers, Span, TracePlace, Traces } from '@dovetail/core-ports';

import { type Decision, type PendingBatch, type PlanCause, replacedNodes } from './messages.js';

/** The cluster that names of traces begin with, and the hash that makes ids of names. */
type Naming = { readonly cluster: string; readonly hash: Hash };

/** Naming, and where spans go. Absent: nothing is traced. */
type Tracing = Naming & { readonly traces?: Traces };

const traceIdOf = ({ cluster, hash }: Naming, name: string): string =>
  hash.sha256Hex(`${cluster}/${name}`).slice(0, 32);
const spanIdOf = ({ cluster, hash }: Naming, name: string): string =>
  hash.sha256Hex(`${cluster}/${name}`).slice(0, 16);

/** The first span of a trace, by the name of the trace. */
const rootOf = (naming: Naming, name: string): TracePlace => ({
  traceId: traceIdOf(naming, name),
  spanId: spanIdOf(naming, `${name}/root`),
});

/**
 * The span of a batch, the first one of its trace. The time of the cut is part of its name: rounds
 * are counted anew in a cluster that is made anew under the same name.
 */
export const placeOfBatch = (naming: Naming, batch: PendingBatch): TracePlace =>
  rootOf(naming, `batch/${batch.group}/${batch.round}/${String(batch.cutAtMs)}`);

/** The first span of the trace in which a node is retired. */
export const placeOfRetirement = (naming: Naming, nodeUid: string): TracePlace =>
  rootOf(naming, `retire/${nodeUid}`);

/** The first span of the trace of a command. */
export const placeOfCommand = (naming: Naming, command: string): TracePlace =>
  rootOf(naming, `command/${command}`);

/**
 * The span of the work that a decision ends. Decisions that are told twice have one id, so their
 * spans do as well.
 */
export const placeOfDecision = (naming: Naming, id: string, traceId: string): TracePlace => ({
  traceId,
  spanId: spanIdOf(naming, id),
});

/** The work that a decision ends, as a span. */
export type TracedWork = {
  readonly traceId: string;
  /** Its span. Absent: it follows from the id of the decision. */
  readonly spanId?: string;
  /** The span that caused it. Absent: it is the first of its trace. */
  readonly parentId?: string;
  /** When the work began, by the clock of the service. */
  readonly sinceMs: number;
  readonly links?: readonly TracePlace[];
};

/** Nodes of one replacement that a plan is linked to; a link costs as much as an attribute. */
const linksMax = 20;

/**
 * Making a plan, as the work that its decision ends. It belongs to the trace of its batch. The plan
 * for a node that is retired belongs to that trace, and the plan of a command to the command's. A
 * plan for several nodes begins a trace, which is linked to those of the nodes.
 */
export function workOfPlan(
  naming: Naming,
  plan: { readonly cause: PlanCause; readonly createdMs: number; readonly solveMs: number },
  batch?: TracePlace,
): TracedWork {
  const { cause, createdMs, solveMs } = plan;
  const sinceMs = createdMs - solveMs;
  const within = ({ traceId, spanId }: TracePlace): TracedWork => ({
    traceId,
    parentId: spanId,
    sinceMs,
  });
  if (batch !== undefined) return within(batch);
  if (cause.kind === 'pending')
    return { traceId: traceIdOf(naming, `batch/${cause.group}/${cause.round}`), sinceMs };
  if (cause.command !== undefined) return within(placeOfCommand(naming, cause.command));
  const nodes = replacedNodes(cause);
  if (nodes.length === 1) return within(placeOfRetirement(naming, cause.nodeUid));
  const uids = nodes.map(({ nodeUid }) => nodeUid).sort(compareText);
  return {
    traceId: traceIdOf(naming, `replace/${uids.join(' ')}`),
    sinceMs,
    links: uids.slice(0, linksMax).map((uid) => placeOfRetirement(naming, uid)),
  };
}

/**
 * W3C `traceparent`, version 00. It says sampled unless the sampler of this service drops the
 * trace.
 */
export const traceparentOf = (
  { traceId, spanId }: TracePlace,
  traces?: Pick<Traces, 'keeps'>,
): string => `00-${traceId}-${spanId}-${(traces?.keeps(traceId) ?? true) ? '01' : '00'}`;

/** Reads a `traceparent` of version 00. Undefined: it is none, or its ids are all 0. */
export function parseTraceparent(text: string | undefined): TracePlace | undefined {
  const [, traceId, spanId] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/.exec(text ?? '') ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return /^0+$/.test(traceId) || /^0+$/.test(spanId) ? undefined : { traceId, spanId };
}

/** The place in a trace that a message names in its headers. */
export const placeIn = (headers: Headers): TracePlace | undefined =>
  parseTraceparent(headers['traceparent']);

/** Records a span, if the service traces at all and its sampler keeps the trace. */
export function recordSpan({ traces }: Pick<Tracing, 'traces'>, span: Span): void {
  if (traces?.keeps(span.traceId) === true)
    traces.record({ ...span, startMs: Math.min(span.startMs, span.endMs) });
}

/** The place of a decision's work in a trace that is kept; undefined: nothing is traced. */
export function tracedPlace(
  tracing: Tracing,
  decisionId: string,
  work: TracedWork | undefined,
): TracePlace | undefined {
  if (work === undefined || tracing.traces?.keeps(work.traceId) !== true) return undefined;
  const { traceId, spanId } = placeOfDecision(tracing, decisionId, work.traceId);
  return { traceId, spanId: work.spanId ?? spanId };
}

/** The kinds of decisions that say that something could not be done. */
const failures: ReadonlySet<Decision['kind']> = new Set([
  'refuse',
  'launch-failed',
  'unschedulable',
]);

/** The work that a decision ends, as a span of its kind's name with the decision's own facts. */
export const spanOfDecision = (decision: Decision, work: TracedWork, place: TracePlace): Span => ({
  ...place,
  name: decision.kind,
  ...(work.parentId === undefined ? {} : { parentId: work.parentId }),
  startMs: work.sinceMs,
  endMs: decision.atMs,
  attributes: attributesOf(decision),
  ...(work.links === undefined ? {} : { links: work.links }),
  ...(failures.has(decision.kind) ? { failure: decision.summary } : {}),
});

/** Names of OpenTelemetry's conventions where they have one. */
function attributesOf(decision: Decision): Span['attributes'] {
  const { pool, priceMicrosPerHour, reasons, facts, objects } = decision;
  const named = {
    'dovetail.decision': decision.id,
    'dovetail.summary': decision.summary,
    'dovetail.pool': pool === undefined ? undefined : `${pool.kind}/${pool.name}`,
    'dovetail.plan': decision.planId,
    'dovetail.claim': decision.claimName,
    'dovetail.pods': facts['pods'] === undefined ? undefined : Number(facts['pods']),
    'dovetail.reasons':
      reasons.length === 0 ? undefined : [...new Set(reasons.map(({ code }) => code))].join(','),
    'dovetail.price_usd_per_hour':
      priceMicrosPerHour === undefined ? undefined : priceMicrosPerHour / 1e6,
    'dovetail.capacity_type': decision.capacityType,
    'k8s.node.name': objects.find(({ kind }) => kind === 'Node')?.name,
    'host.id': decision.instanceId,
    'host.type': decision.instanceType,
    'cloud.availability_zone': decision.zone,
  };
  return Object.fromEntries(
    Object.entries(named).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
