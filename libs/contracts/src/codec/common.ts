import type { PoolIdentity } from '@dovetail/core-api';
import type { CapacityType } from '@dovetail/core-ec2-model';
import type { NodeSelectorTerm, Operator, RequirementSpec, Resources, Taint, TaintEffect } from '@dovetail/core-kube-model';
import type { Reason, ReasonCode } from '@dovetail/core-scheduling';
import type { AdmissionNumber } from '../messages.js';
import { type Codec, int, intMap, list, Malformed, message, name, oneOf, optional, text, textMap, within } from './fields.js';
import { wire as w } from './wire.js';

const { Operator: O, TaintEffect: E, CapacityType: C, PoolKind: P } = w;

export const operator = oneOf<Operator>({
  In: O.OPERATOR_IN, NotIn: O.OPERATOR_NOT_IN, Exists: O.OPERATOR_EXISTS, DoesNotExist: O.OPERATOR_DOES_NOT_EXIST,
  Gt: O.OPERATOR_GT, Lt: O.OPERATOR_LT, Gte: O.OPERATOR_GTE, Lte: O.OPERATOR_LTE,
});
export const taintEffect = oneOf<TaintEffect>({ NoSchedule: E.TAINT_EFFECT_NO_SCHEDULE, PreferNoSchedule: E.TAINT_EFFECT_PREFER_NO_SCHEDULE, NoExecute: E.TAINT_EFFECT_NO_EXECUTE });
export const capacityType = oneOf<CapacityType>({ 'on-demand': C.CAPACITY_TYPE_ON_DEMAND, spot: C.CAPACITY_TYPE_SPOT, reserved: C.CAPACITY_TYPE_RESERVED });
export const poolIdentity = message<PoolIdentity>({ kind: oneOf({ NodePool: P.POOL_KIND_NODE_POOL, Provisioner: P.POOL_KIND_PROVISIONER }), name });

export const resources: Codec<Resources> = within('amounts', intMap);
export const requirement = message<RequirementSpec>({ key: name, operator, values: list(text), minValues: optional(int) });
export const requirements = list(requirement);
export const taint = message<Taint>({ key: name, value: optional(text), effect: taintEffect });
export const taintList = list(taint);
export const selectorTerms: Codec<readonly NodeSelectorTerm[]> = within('terms', list(message<NodeSelectorTerm>({ matchExpressions: requirements, matchFields: requirements })));
export const selectorTerm = message<NodeSelectorTerm>({ matchExpressions: requirements, matchFields: requirements });

export const admissionNumber = message<AdmissionNumber>({ epoch: int, number: int });
export const streamPosition = message<{ readonly incarnation: string; readonly sequence: number }>({ incarnation: name, sequence: int });

/** Codes only explain, nothing is decided on them: one that a newer peer has made up is passed on as it is. */
const reasonCode: Codec<ReasonCode> = {
  write: (value) => value,
  read: (from) => {
    if (typeof from !== 'string' || !/^[a-z][a-z0-9-]*$/.test(from)) throw new Malformed(`${JSON.stringify(from)} is no code in kebab-case`);
    return from as ReasonCode;
  },
};
export const reason = message<Reason>({
  code: reasonCode, message: text, values: textMap, subject: optional(text),
  fell: optional(message<NonNullable<Reason['fell']>>({ count: int, of: int })), remedy: optional(text),
});
