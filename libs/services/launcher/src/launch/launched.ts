import { annotations, labels, nodePriceText, type NodeClaim } from '@dovetail/core-api';
import type { InstanceType, Offering } from '@dovetail/core-ec2-model';
import { formatResources } from '@dovetail/core-kube-model';
import { claimSteps, conditionObjects, withCondition, withRoot } from '../lifecycle/conditions.js';
import type { Change } from '../world/writer.js';
import { instanceIdOf } from './intent.js';
import type { LaunchedInstance } from './pairing.js';

/** `aws:///us-east-1a/i-0123`, as the AWS cloud provider writes a node's provider ID. */
export const providerIdOf = (instance: { readonly zone: string; readonly id: string }): string => `aws:///${instance.zone}/${instance.id}`;

/** Labels that follow from what was launched: the type's single values, and where and how it was bought. */
export function labelsOfInstance(instance: LaunchedInstance, type: InstanceType | undefined): Readonly<Record<string, string>> {
  const decided: Record<string, string> = {};
  for (const [key, set] of type?.requirements ?? []) {
    const [only, ...others] = set.values;
    if (set.kind === 'in' && only !== undefined && others.length === 0) decided[key] = only;
  }
  const zoneId = type?.offerings.find((offering) => offering.zone === instance.zone)?.zoneId;
  return {
    ...decided, [labels.instanceType]: instance.instanceType, [labels.zone]: instance.zone, [labels.capacityType]: instance.capacityType,
    ...(zoneId === undefined ? {} : { [labels.zoneId]: zoneId }),
  };
}

/** The offering that was launched, as the catalog has it now. */
export const offeringOf = (instance: LaunchedInstance, type: InstanceType | undefined): Offering | undefined =>
  type?.offerings.find(({ zone, capacityType }) => zone === instance.zone && capacityType === instance.capacityType);

/** Pairs the claim with its instance; nothing to change when it has one, and a claim once paired keeps its own. */
export function pairingChange(now: NodeClaim, instance: LaunchedInstance, type: InstanceType | undefined): Change {
  if (instanceIdOf(now) !== undefined) return undefined;
  const offering = offeringOf(instance, type);
  const price = offering === undefined ? {} : { [annotations.pricePerHour]: nodePriceText(offering) };
  return { metadata: { annotations: { [annotations.instanceId]: instance.id, ...price }, labels: { ...labelsOfInstance(instance, type), ...now.labels } } };
}

/** What status says of a launched claim. Capacity is what the type is expected to have, until the node reports its own. */
export function launchedStatus(now: NodeClaim, instance: LaunchedInstance, type: InstanceType | undefined, nowMs: number): Change {
  const conditions = withRoot(claimSteps.reduce((held, step) => (step === 'Launched'
    ? withCondition(held, { type: step, status: 'True', reason: step }, nowMs)
    : held.some((condition) => condition.type === step) ? held : withCondition(held, { type: step, status: 'Unknown', reason: 'NodeNotFound', message: 'Node not registered with cluster' }, nowMs)), now.conditions), claimSteps, nowMs);
  if (now.providerId !== undefined && conditions === now.conditions) return undefined;
  return { status: {
    providerID: providerIdOf(instance), ...(instance.imageId === undefined ? {} : { imageID: instance.imageId }),
    ...(type === undefined ? {} : { capacity: formatResources(type.capacity), allocatable: formatResources(type.allocatable) }),
    conditions: conditionObjects(conditions),
  } };
}
