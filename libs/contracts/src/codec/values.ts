import type { PoolIdentity } from '@dovetail/core-api';
import type { CapacityType } from '@dovetail/core-ec2-model';
import type {
  NodeSelectorTerm,
  Operator,
  RequirementSpec,
  Resources,
  Taint,
  TaintEffect,
} from '@dovetail/core-kube-model';
import type { Reason, ReasonCode } from '@dovetail/core-scheduling';

import type { AdmissionNumber } from '../messages.js';
import {
  type Codec,
  int,
  intMap,
  list,
  Malformed,
  message,
  name,
  oneOf,
  optional,
  text,
  textMap,
  within,
} from './fields.js';
import { wire as w } from './wire.js';

const { Operator: O, TaintEffect: E, CapacityType: C, PoolKind: P } = w;

const operator = oneOf<Operator>({
  In: O.OPERATOR_IN,
  NotIn: O.OPERATOR_NOT_IN,
  Exists: O.OPERATOR_EXISTS,
  DoesNotExist: O.OPERATOR_DOES_NOT_EXIST,
  Gt: O.OPERATOR_GT,
  Lt: O.OPERATOR_LT,
  Gte: O.OPERATOR_GTE,
  Lte: O.OPERATOR_LTE,
});
/** The effects of a taint, as Kubernetes names them. */
export const taintEffect = oneOf<TaintEffect>({
  NoSchedule: E.TAINT_EFFECT_NO_SCHEDULE,
  PreferNoSchedule: E.TAINT_EFFECT_PREFER_NO_SCHEDULE,
  NoExecute: E.TAINT_EFFECT_NO_EXECUTE,
});
/** How an instance is paid for. */
export const capacityType = oneOf<CapacityType>({
  'on-demand': C.CAPACITY_TYPE_ON_DEMAND,
  spot: C.CAPACITY_TYPE_SPOT,
  reserved: C.CAPACITY_TYPE_RESERVED,
});
/** Kind and name of a pool. */
export const poolIdentity = message<PoolIdentity>({
  kind: oneOf({ NodePool: P.POOL_KIND_NODE_POOL, Provisioner: P.POOL_KIND_PROVISIONER }),
  name,
});

/** Amounts by resource name, in the smallest unit of each (millicores, bytes, counts). */
export const resources: Codec<Resources> = within('amounts', intMap);
const requirement = message<RequirementSpec>({
  key: name,
  operator,
  values: list(text),
  minValues: optional(int),
});
/** Label requirements. All of them apply. */
export const requirements = list(requirement);
const taint = message<Taint>({ key: name, value: optional(text), effect: taintEffect });
/** Taints in the object's order. */
export const taintList = list(taint);
/** Alternatives of a node selector: one of them must match. */
export const selectorTerms: Codec<readonly NodeSelectorTerm[]> = within(
  'terms',
  list(message<NodeSelectorTerm>({ matchExpressions: requirements, matchFields: requirements })),
);
/** One alternative of a node selector. */
export const selectorTerm = message<NodeSelectorTerm>({
  matchExpressions: requirements,
  matchFields: requirements,
});

/** Where an admission stands in the order of admissions. */
export const admissionNumber = message<AdmissionNumber>({ epoch: int, number: int });
/** A sequence number and the incarnation of the stream that it belongs to. */
export const streamPosition = message<{ readonly incarnation: string; readonly sequence: number }>({
  incarnation: name,
  sequence: int,
});

/**
 * Codes explain, and no code path depends on one. A code that only a newer peer knows is passed on
 * unchanged.
 */
const reasonCode: Codec<ReasonCode> = {
  write: (value) => value,
  read: (from) => {
    if (typeof from !== 'string' || !/^[a-z][a-z0-9-]*$/.test(from))
      throw new Malformed(`${JSON.stringify(from)} is not a code in kebab-case`);
    return from as ReasonCode;
  },
};
/** A reason: code, sentence, and the values compared. */
export const reason = message<Reason>({
  code: reasonCode,
  message: text,
  values: textMap,
  subject: optional(text),
  fell: optional(message<NonNullable<Reason['fell']>>({ count: int, of: int })),
  remedy: optional(text),
});
