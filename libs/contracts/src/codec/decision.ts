import type { Decision, DecisionKind } from '../messages.js';
import { flag, int, list, message, name, oneOf, optional, text, textMap } from './fields.js';
import { capacityType, poolIdentity, reason } from './values.js';
import { wire as w } from './wire.js';

const D = w.DecisionKind;
const decisionKind = oneOf<DecisionKind>({
  plan: D.DECISION_KIND_PLAN,
  admit: D.DECISION_KIND_ADMIT,
  refuse: D.DECISION_KIND_REFUSE,
  launch: D.DECISION_KIND_LAUNCH,
  'launch-failed': D.DECISION_KIND_LAUNCH_FAILED,
  register: D.DECISION_KIND_REGISTER,
  initialize: D.DECISION_KIND_INITIALIZE,
  unschedulable: D.DECISION_KIND_UNSCHEDULABLE,
  command: D.DECISION_KIND_COMMAND,
  disrupt: D.DECISION_KIND_DISRUPT,
  interrupt: D.DECISION_KIND_INTERRUPT,
  drain: D.DECISION_KIND_DRAIN,
  terminate: D.DECISION_KIND_TERMINATE,
  collect: D.DECISION_KIND_COLLECT,
  gap: D.DECISION_KIND_GAP,
});

/** A decision, the public message. */
export const decision = message<Decision>(
  {
    id: name,
    kind: decisionKind,
    atMs: int,
    source: name,
    pool: optional(poolIdentity),
    summary: text,
    objects: list(
      message<Decision['objects'][number]>({
        kind: name,
        name: text,
        namespace: optional(text),
        uid: optional(text),
      }),
    ),
    reasons: list(reason),
    alternatives: list(
      message<Decision['alternatives'][number]>({
        what: text,
        priceMicrosPerHour: optional(int),
        reason: optional(text),
      }),
    ),
    priceMicrosPerHour: optional(int),
    lowerBoundMicrosPerHour: optional(int),
    priceEstimated: optional(flag),
    planId: optional(text),
    claimName: optional(text),
    instanceId: optional(text),
    instanceType: optional(text),
    zone: optional(text),
    capacityType: optional(capacityType),
    facts: textMap,
    traceId: optional(text),
  },
  ['capacityType'],
);
