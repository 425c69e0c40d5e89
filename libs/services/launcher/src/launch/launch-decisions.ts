import { isWithoutPool, type NodeClaim, poolKey } from '@dovetail/core-api';
import type { CapacityType, InstanceType } from '@dovetail/core-ec2-model';
import type { NewDecision } from '@dovetail/service-kit';

import type { DiscoveredClass } from '../discovery/class-catalog.js';
import type { FailedCall } from './errors.js';
import type { LaunchIntent } from './intent.js';
import { offeringOf } from './launched.js';
import type { LaunchedInstance } from './pairing.js';

/** A launch as its decision reports it. */
export type LaunchRecord = {
  readonly claim: NodeClaim;
  readonly instance: LaunchedInstance;
  readonly intent: LaunchIntent;
  /** Absent when the instance was found by its tag instead of in a fleet's answer. */
  readonly fleetId: string | undefined;
  /** The instance's type as the catalog has it; undefined when the catalog no longer has it. */
  readonly type: InstanceType | undefined;
  readonly discovered: DiscoveredClass | undefined;
};

/** The decision that an instance was launched for a claim, with the price of its offering. */
export function launchDecision(record: LaunchRecord): NewDecision {
  const { claim, instance, intent, type } = record;
  const offering = offeringOf(instance, type);
  const typesCount = String(typesOffered(intent));
  return {
    id: `launch/${claim.uid}/${instance.id}`,
    kind: 'launch',
    ...poolOf(claim),
    claimName: claim.name,
    instanceId: instance.id,
    ...offeringFields(instance),
    summary: `launched ${instance.instanceType} ${instance.capacityType} in ${instance.zone} for ${claim.name}`,
    ...(offering === undefined
      ? {}
      : {
          priceMicrosPerHour: offering.priceMicrosPerHour,
          priceEstimated: offering.priceEstimated,
        }),
    reasons: [
      {
        code: 'fleet-choice',
        message: `EC2 Fleet chose it among ${typesCount} types (${intent.request.allocation})`,
        values: { types: typesCount, allocation: intent.request.allocation },
      },
    ],
    objects: [{ kind: 'NodeClaim', name: claim.name, uid: claim.uid }],
    facts: launchFacts(record, typesCount),
  };
}

/** The decision that a claim ends because none of its offerings has capacity. */
export const noCapacityDecision = (
  claim: NodeClaim,
  { awsCode }: FailedCall,
  message: string,
): NewDecision => ({
  id: `launch-failed/${claim.uid}`,
  kind: 'launch-failed',
  ...poolOf(claim),
  claimName: claim.name,
  summary: `no capacity for ${claim.name}: ${message}`,
  reasons: [
    {
      code: 'no-capacity',
      message,
      values: { awsCode },
      ...(isWithoutPool(claim) ? {} : { subject: poolKey(claim.pool) }),
    },
  ],
  objects: [{ kind: 'NodeClaim', name: claim.name, uid: claim.uid }],
});

/** A claim that a person has made may be without a pool. */
const poolOf = (claim: NodeClaim): Pick<NewDecision, 'pool'> =>
  isWithoutPool(claim) ? {} : { pool: claim.pool };

const offeringFields = ({
  instanceType,
  zone,
  capacityType,
}: LaunchedInstance): {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
} => ({ instanceType, zone, capacityType });

function launchFacts(
  { instance, intent, discovered, fleetId }: LaunchRecord,
  types: string,
): Readonly<Record<string, string>> {
  const config = intent.request.configs.find(({ overrides }) =>
    overrides.some(
      ({ instanceType, zone }) => instanceType === instance.instanceType && zone === instance.zone,
    ),
  );
  const image = instance.imageId ?? '';
  const groups = discovered?.nodeClass.status.securityGroups.map(({ id }) => id) ?? [];
  return {
    intent: intent.id,
    attempt: String(intent.attempt),
    types,
    launchTemplate: config?.launchTemplateName ?? '',
    image,
    imageParameter: discovered?.imageParameters.get(image) ?? '',
    securityGroups: groups.join(','),
    fleet: fleetId ?? '',
  };
}

/** How many instance types the request let EC2 Fleet choose among. */
const typesOffered = ({ request }: LaunchIntent): number =>
  new Set(request.configs.flatMap(({ overrides }) => overrides.map((each) => each.instanceType)))
    .size;
