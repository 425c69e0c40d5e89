import type { Decision } from '@dovetail/contracts';
import { isWithoutPool, type NodeClaim, poolKey } from '@dovetail/core-api';
import type { CapacityType, InstanceType } from '@dovetail/core-ec2-model';
import { compareText } from '@dovetail/core-kube-model';
import { countText, type NewDecision } from '@dovetail/service-kit';

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
  /** The claim's types as the catalog has them now, by name: it may no longer have one. */
  readonly types: ReadonlyMap<string, InstanceType>;
  readonly discovered: DiscoveredClass | undefined;
};

/** The decision that an instance was launched for a claim, with the price of its offering. */
export function launchDecision(record: LaunchRecord): NewDecision {
  const { claim, instance, intent, types } = record;
  const offering = offeringOf(instance, types.get(instance.instanceType));
  const count = typesOffered(intent);
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
        message: `EC2 Fleet chose it among ${countText(count, 'type')} (${intent.request.allocation})`,
        values: { types: String(count), allocation: intent.request.allocation },
      },
    ],
    alternatives: alternativesOf(record),
    objects: [{ kind: 'NodeClaim', name: claim.name, uid: claim.uid }],
    facts: launchFacts(record, String(count)),
  };
}

/** The most other offerings that a launch lists: enough to explain it. */
const alternativesMax = 20;

/** The offerings that EC2 Fleet could have launched instead, the cheapest first. */
function alternativesOf({ instance, intent, types }: LaunchRecord): Decision['alternatives'] {
  const { capacityType, configs } = intent.request;
  const offered = configs.flatMap(({ overrides }) =>
    overrides.map(({ instanceType, zone }) => ({ instanceType, zone, capacityType })),
  );
  const isBought = (one: (typeof offered)[number]): boolean =>
    one.instanceType === instance.instanceType && one.zone === instance.zone;
  const options = new Map(
    offered
      .filter((one) => !isBought(one))
      .map((one) => [
        `${one.instanceType} ${one.capacityType} ${one.zone}`,
        offeringOf(one, types.get(one.instanceType))?.priceMicrosPerHour,
      ]),
  );
  return [...options]
    .sort(([a, x = Infinity], [b, y = Infinity]) => x - y || compareText(a, b))
    .slice(0, alternativesMax)
    .map(([what, price]) => ({
      what,
      ...(price === undefined ? {} : { priceMicrosPerHour: price }),
    }));
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
