import {
  annotations,
  classLabelOf,
  type Condition,
  isWithoutPool,
  labels,
  type NodeClaim,
  nodePriceText,
} from '@dovetail/core-api';
import { decidedLabels, isUnpaired } from '@dovetail/core-cluster';
import type { InstanceType, Offering } from '@dovetail/core-ec2-model';
import { put } from '@dovetail/core-invariant';
import { formatResources } from '@dovetail/core-kube-model';
import {
  type Change,
  conditionObjects,
  conditionOf,
  withCondition,
  withRoot,
} from '@dovetail/service-kit';

import { claimSteps } from '../cluster/claim-conditions.js';
import { intentIdOf } from './intent.js';
import type { LaunchedInstance } from './pairing.js';

/** `aws:///us-east-1a/i-0123`, as the AWS cloud provider writes a node's provider ID. */
const providerIdOf = (instance: { readonly zone: string; readonly id: string }): string =>
  `aws:///${instance.zone}/${instance.id}`;

/**
 * The labels that a launched instance decides: the type's single values, its zone and its capacity
 * type.
 */
function labelsOfInstance(
  instance: LaunchedInstance,
  type: InstanceType | undefined,
): Readonly<Record<string, string>> {
  const decided: Record<string, string> = {};
  for (const [key, set] of type?.requirements ?? []) {
    const [only, ...others] = set.values;
    if (set.kind === 'in' && only !== undefined && others.length === 0) put(decided, key, only);
  }
  const zoneId = type?.offerings.find((offering) => offering.zone === instance.zone)?.zoneId;
  return {
    ...decided,
    [labels.instanceType]: instance.instanceType,
    [labels.zone]: instance.zone,
    [labels.capacityType]: instance.capacityType,
    ...(zoneId === undefined ? {} : { [labels.zoneId]: zoneId }),
  };
}

/**
 * The labels that a person's claim leaves out: of requirements with one value, and of its class. A
 * bin's claim has them from its pool and plan.
 */
const ownLabels = (claim: NodeClaim): Readonly<Record<string, string>> =>
  isWithoutPool(claim)
    ? { ...decidedLabels(claim.requirements), [classLabelOf(claim.classRef)]: claim.classRef.name }
    : {};

/** The offering of the instance, as the catalog has it now. */
export const offeringOf = (
  instance: Pick<LaunchedInstance, 'zone' | 'capacityType'>,
  type: InstanceType | undefined,
): Offering | undefined =>
  type?.offerings.find(
    ({ zone, capacityType }) => zone === instance.zone && capacityType === instance.capacityType,
  );

/** The catalog's type of an instance, and the profile that it was launched with. */
type LaunchedAs = {
  readonly type: InstanceType | undefined;
  readonly instanceProfile: string | undefined;
};

/**
 * Pairs the claim with its instance. Invariant: a paired claim keeps its instance, so that there is
 * nothing to change when it has one. Labels that the claim has win over the instance's, as
 * Karpenter's do.
 *
 * The intent shrinks to its id, by which collection knows it. Its request is many kilobytes, and
 * only claims without an instance need it.
 */
export function pairingChange(
  now: NodeClaim,
  instance: LaunchedInstance,
  { type, instanceProfile }: LaunchedAs,
): Change {
  if (!isUnpaired(now)) return undefined;
  const offering = offeringOf(instance, type);
  const price =
    offering === undefined ? {} : { [annotations.pricePerHour]: nodePriceText(offering) };
  const profile =
    instanceProfile === undefined ? {} : { [annotations.instanceProfile]: instanceProfile };
  const intentId = intentIdOf(now);
  const intent = intentId === undefined ? {} : { [annotations.launchIntent]: intentId };
  return {
    metadata: {
      annotations: { [annotations.instanceId]: instance.id, ...profile, ...price, ...intent },
      labels: { ...labelsOfInstance(instance, type), ...ownLabels(now), ...now.labels },
    },
  };
}

/**
 * The status of a launched claim; undefined when it says so already. Capacity and allocatable are
 * what the type is expected to have, until the node reports its own.
 */
export function launchedStatus(
  now: NodeClaim,
  instance: LaunchedInstance,
  type: InstanceType | undefined,
  nowMs: number,
): Change {
  const conditions = withRoot(launchedConditions(now.conditions, nowMs), claimSteps, nowMs);
  if (now.providerId !== undefined && conditions === now.conditions) return undefined;
  return {
    status: {
      providerID: providerIdOf(instance),
      ...(instance.imageId === undefined ? {} : { imageID: instance.imageId }),
      ...(type === undefined
        ? {}
        : {
            capacity: formatResources(type.capacity),
            allocatable: formatResources(type.allocatable),
          }),
      conditions: conditionObjects(conditions),
    },
  };
}

/**
 * Launched is True; the steps after it are Unknown in Karpenter's words, unless they are set
 * already.
 */
function launchedConditions(held: readonly Condition[], nowMs: number): readonly Condition[] {
  const launched = { type: 'Launched', status: 'True', reason: 'Launched' } as const;
  const later = claimSteps
    .filter((step) => step !== 'Launched' && conditionOf(held, step) === undefined)
    .map((type) => ({
      type,
      status: 'Unknown' as const,
      reason: 'NodeNotFound',
      message: 'Node not registered with cluster',
    }));
  return [launched, ...later].reduce<readonly Condition[]>(
    (conditions, next) => withCondition(conditions, next, nowMs),
    held,
  );
}
