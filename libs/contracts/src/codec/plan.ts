import type { BinOption, Bound, NewNode, Placement, Plan, Reason } from '@dovetail/core-scheduling';

import {
  type PendingBatch,
  type PlanCause,
  type PlanMessage,
  type ReplacedNode,
  replacedNodes,
  type Replacement,
} from '../messages.js';
import {
  type Codec,
  flag,
  int,
  list,
  Malformed,
  message,
  name,
  oneOf,
  optional,
  text,
  textMap,
  uint,
  type Wire,
} from './fields.js';
import {
  admissionNumber,
  capacityType,
  poolIdentity,
  reason,
  requirements,
  resources,
  streamPosition,
  taintList,
} from './values.js';
import { wire as w } from './wire.js';

const B = w.BoundKind;
const option = message<BinOption>({
  instanceType: name,
  zone: name,
  capacityType,
  priceMicrosPerHour: int,
  reservationId: optional(text),
});
/** A lower bound of a plan's price, with the relaxation that gave it. */
export const bound = message<Bound>({
  kind: oneOf<Bound['kind']>({
    none: B.BOUND_KIND_NONE,
    'resource-price': B.BOUND_KIND_RESOURCE_PRICE,
    'aggregate-lp': B.BOUND_KIND_AGGREGATE_LP,
    'assignment-lp': B.BOUND_KIND_ASSIGNMENT_LP,
    'integer-aggregate': B.BOUND_KIND_INTEGER_AGGREGATE,
    spread: B.BOUND_KIND_SPREAD,
    'whole-nodes': B.BOUND_KIND_WHOLE_NODES,
  }),
  priceMicrosPerHour: int,
});
const placement = message<Placement>({
  nodeName: name,
  nodeUid: name,
  podUids: list(name),
  topologyGroups: list(text),
});

/**
 * Rows that bins and pods share travel once and are named by index, so that 1,000 bins with 60
 * options each stay small.
 */
class Table<T> {
  readonly rows: T[] = [];
  readonly #indexes = new Map<string, number>();
  index(value: T): number {
    const key = JSON.stringify(value);
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    this.#indexes.set(key, this.rows.length);
    return this.rows.push(value) - 1;
  }
}
const rowAt = <T>(rows: readonly T[], index: number): T => {
  const row = rows[index];
  if (row === undefined)
    throw new Malformed(`${String(index)} names no row; the table has ${String(rows.length)}`);
  return row;
};

type FlatBin = Omit<NewNode, 'options' | 'notes'> & {
  readonly optionIndexes: readonly number[];
  readonly noteIndexes: readonly number[];
};
type FlatUnplaced = { readonly podUid: string; readonly reasonIndexes: readonly number[] };
type FlatPlan = Omit<Plan, 'newNodes' | 'unplaced'> & {
  readonly options: readonly BinOption[];
  readonly reasons: readonly Reason[];
  readonly newNodes: readonly FlatBin[];
  readonly unplaced: readonly FlatUnplaced[];
};
const flatBin = message<FlatBin>({
  id: name,
  pool: poolIdentity,
  optionIndexes: list(uint),
  requirements,
  labels: textMap,
  taints: taintList,
  requests: resources,
  podUids: list(name),
  topologyGroups: list(text),
  minValuesRelaxed: flag,
  noteIndexes: list(uint),
});
const flatPlan = message<FlatPlan>({
  stateSequence: int,
  catalogRevision: text,
  admissionHead: text,
  seed: int,
  steps: int,
  options: list(option),
  reasons: list(reason),
  newNodes: list(flatBin),
  placements: list(placement),
  unplaced: list(message<FlatUnplaced>({ podUid: name, reasonIndexes: list(uint) })),
  priceMicrosPerHour: int,
  bound,
  nodeChargeMicrosPerHour: optional(int),
  assumedRequests: optional(resources),
  stats: message<Plan['stats']>({ pods: int, classes: int, instanceTypes: int }),
});

/**
 * Does the same work on the same value once: bins share their lists, and a list has hundreds of
 * entries.
 */
function once<A extends object, B>(convert: (from: A) => B): (from: A) => B {
  const known = new Map<A, B>();
  return (from) => {
    if (!known.has(from)) known.set(from, convert(from));
    return known.get(from) as B;
  };
}

function flatten(plan: Plan): FlatPlan {
  const options = new Table<BinOption>();
  const reasons = new Table<Reason>();
  const optionIndexes = once((from: readonly BinOption[]) =>
    from.map((each) => options.index(each)),
  );
  const noteIndexes = once((from: readonly Reason[]) => from.map((each) => reasons.index(each)));
  const newNodes = plan.newNodes.map(({ options: binOptions, notes, ...bin }) => ({
    ...bin,
    optionIndexes: optionIndexes(binOptions),
    noteIndexes: noteIndexes(notes),
  }));
  const unplaced = plan.unplaced.map((pod) => ({
    podUid: pod.podUid,
    reasonIndexes: pod.reasons.map((each) => reasons.index(each)),
  }));
  return { ...plan, newNodes, unplaced, options: options.rows, reasons: reasons.rows };
}

/**
 * Gives equal values one identity, as they had where the plan was made. A judge of hundreds of like
 * bins then looks at each value once.
 */
function shared<A, B = A>(convert: (from: A) => B): (from: A) => B {
  const known = new Map<string, B>();
  return (from) => {
    const key = JSON.stringify(from);
    const value = known.get(key) ?? convert(from);
    known.set(key, value);
    return value;
  };
}
const asItIs = <T>(value: T): T => value;

function unflatten({ options, reasons, newNodes, unplaced, ...rest }: FlatPlan): Plan {
  const optionsAt = shared((indexes: readonly number[]) =>
    indexes.map((index) => rowAt(options, index)),
  );
  const notesAt = shared((indexes: readonly number[]) =>
    indexes.map((index) => rowAt(reasons, index)),
  );
  const [requirementsOf, labelsOf, taintsOf] = [
    shared<NewNode['requirements']>(asItIs),
    shared<NewNode['labels']>(asItIs),
    shared<NewNode['taints']>(asItIs),
  ];
  return {
    ...rest,
    newNodes: newNodes.map(({ optionIndexes, noteIndexes, ...bin }) => ({
      ...bin,
      requirements: requirementsOf(bin.requirements),
      labels: labelsOf(bin.labels),
      taints: taintsOf(bin.taints),
      options: optionsAt(optionIndexes),
      notes: notesAt(noteIndexes),
    })),
    unplaced: unplaced.map((pod) => ({
      podUid: pod.podUid,
      reasons: pod.reasonIndexes.map((index) => rowAt(reasons, index)),
    })),
  };
}
/** A plan. Rows that bins and pods share travel once, in tables. */
export const plan: Codec<Plan> = {
  write: (value) => flatPlan.write(flatten(value)),
  read: (from) => unflatten(flatPlan.read(from)),
};

type Pending = Omit<Extract<PlanCause, { kind: 'pending' }>, 'kind'>;
const pendingCause = message<Pending>({ group: name, round: name });
const goingNodes = message<{ readonly nodes: readonly ReplacedNode[]; readonly reason: string }>({
  nodes: list(message<ReplacedNode>({ nodeName: name, nodeUid: name })),
  reason: text,
});
/** Nodes that go together. */
export const replacement: Codec<Replacement> = {
  write: (value) => goingNodes.write({ nodes: replacedNodes(value), reason: value.reason }),
  read: (from) => {
    const { nodes, reason: why } = goingNodes.read(from);
    const [first, ...others] = nodes;
    if (first === undefined) throw new Malformed('nodes is empty; one at least is required');
    return { ...first, reason: why, ...(others.length === 0 ? {} : { others }) };
  },
};
type ReplacementCause = Omit<Extract<PlanCause, { kind: 'replacement' }>, 'kind'>;
const command = message<{ readonly command: string }>({ command: name });
const commandCause: Codec<Required<Pick<ReplacementCause, 'command'>> & Replacement> = {
  write: (value) => ({ ...(replacement.write(value) as Wire), ...(command.write(value) as Wire) }),
  read: (from) => ({ ...replacement.read(from), ...command.read(from) }),
};
/** The cause is a oneof of the message itself. */
/** The cause of a plan, spread over the fields of its message. */
export const cause: Codec<PlanCause> = {
  write: (value) => {
    if (value.kind === 'pending') return { pending: pendingCause.write(value) };
    if (value.command !== undefined)
      return { commandCause: commandCause.write({ ...value, command: value.command }) };
    return { replacement: replacement.write(value) };
  },
  read: (from) => {
    const set = from as Wire;
    if (Object.hasOwn(set, 'pending'))
      return { kind: 'pending', ...pendingCause.read(set['pending']) };
    if (Object.hasOwn(set, 'replacement'))
      return { kind: 'replacement', ...replacement.read(set['replacement']) };
    if (Object.hasOwn(set, 'commandCause'))
      return { kind: 'replacement', ...commandCause.read(set['commandCause']) };
    throw new Malformed(
      'cause is unset, or newer than this build (known: pending, replacement, command_cause)',
    );
  },
};
const planRest = message<Omit<PlanMessage, 'cause'>>({
  id: name,
  plan,
  statePosition: streamPosition,
  admissionSeen: admissionNumber,
  createdMs: int,
  solver: name,
  solveMs: int,
});
/** A plan with its id, cause and origin. */
export const planMessage: Codec<PlanMessage> = {
  write: (value) => ({ ...(planRest.write(value) as Wire), ...(cause.write(value.cause) as Wire) }),
  read: (from) => ({ ...planRest.read(from), cause: cause.read(from) }),
};

/** The pending pods of one group. */
export const pendingBatch = message<PendingBatch>({
  group: name,
  podUids: list(name),
  round: name,
  statePosition: streamPosition,
  cutAtMs: int,
  youngestMs: int,
});
