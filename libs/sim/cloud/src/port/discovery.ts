import type {
  Account,
  EksClusters,
  Image,
  ImageDiscovery,
  InstanceCatalog,
  NetworkDiscovery,
  PriceQuote,
  Prices,
} from '@dovetail/core-ports';

import type { TwinType } from '../foundation/account.js';
import { dedicatedPriceOf } from '../foundation/prices.js';
import type { TwinImage } from '../parts/eks-images.js';
import type { CloudTwin } from '../twin/cloud-twin.js';
import type { Run } from './runner.js';

const onDemandQuote = (type: TwinType): readonly PriceQuote[] =>
  type.onDemandPriceMicros === undefined
    ? []
    : [
        {
          instanceType: type.facts.name,
          capacityType: 'on-demand',
          priceMicrosPerHour: type.onDemandPriceMicros,
          estimated: type.priceEstimated ?? false,
        },
      ];

const dedicatedQuote = (type: TwinType): readonly PriceQuote[] =>
  onDemandQuote(type).map((quote) => ({
    ...quote,
    tenancy: 'dedicated',
    priceMicrosPerHour: dedicatedPriceOf(type, quote.priceMicrosPerHour),
    estimated: quote.estimated || !type.facts.bareMetal,
  }));

const spotQuotes = (twin: CloudTwin, type: TwinType): readonly PriceQuote[] =>
  type.zones.flatMap((zone) => {
    const price = twin.market.priceAt(type, zone, twin.timeline.nowMs());
    return price === undefined
      ? []
      : [
          {
            instanceType: type.facts.name,
            zone,
            capacityType: 'spot',
            priceMicrosPerHour: price.priceMicros,
            estimated: type.priceEstimated ?? false,
          },
        ];
  });

/** The types that can be launched, and where. */
export function catalogOf({ account }: CloudTwin, run: Run): InstanceCatalog {
  const zones = (): ReadonlyMap<string, readonly string[]> =>
    new Map(account.types.map((type) => [type.facts.name, type.zones]));
  return {
    instanceTypes: () =>
      run('ec2:DescribeInstanceTypes', () => account.types.map((type) => type.facts)),
    instanceTypeZones: () => run('ec2:DescribeInstanceTypeOfferings', zones),
  };
}

/** On-demand and Spot prices. */
export function pricesOf(twin: CloudTwin, run: Run): Prices {
  const { types } = twin.account;
  return {
    onDemandPrices: () =>
      run('pricing:GetProducts', () => [
        ...types.flatMap(onDemandQuote),
        ...types.flatMap(dedicatedQuote),
      ]),
    spotPrices: () =>
      run('ec2:DescribeSpotPriceHistory', () => types.flatMap((type) => spotQuotes(twin, type))),
  };
}

/** Subnets and security groups. */
export function networkOf({ network }: CloudTwin, run: Run): NetworkDiscovery {
  return {
    subnets: (filters) =>
      run('ec2:DescribeSubnets', () =>
        network
          .subnets({ filters })
          .map(({ id, zone, zoneId, tags }) => ({
            id,
            zone,
            zoneId,
            tags,
            freeAddresses: network.freeAddresses(id),
          })),
      ),
    securityGroups: (filters) =>
      run('ec2:DescribeSecurityGroups', () =>
        network.securityGroups({ filters }).map(({ id, name, tags }) => ({ id, name, tags })),
      ),
  };
}

const imageOf = (image: TwinImage, nowMs: number): Image => ({
  id: image.id,
  name: image.name,
  arch: image.arch,
  createdMs: image.createdMs,
  tags: image.tags,
  deprecated: (image.deprecatedMs ?? Number.POSITIVE_INFINITY) <= nowMs,
});

/** Images and the parameters that name them. */
export function imagesOf({ images, timeline }: CloudTwin, run: Run): ImageDiscovery {
  return {
    images: (query) =>
      run('ec2:DescribeImages', () =>
        images
          .describe({ ...query, includeDeprecated: true })
          .map((image) => imageOf(image, timeline.nowMs())),
      ),
    parameter: (name) => run('ssm:GetParameter', () => images.parameter(name)?.value),
  };
}

/** The EKS cluster. */
export function clustersOf(twin: CloudTwin, run: Run): EksClusters {
  return {
    clusterInfo: (name) =>
      run('eks:DescribeCluster', () => {
        const { version, endpoint, certificateAuthority, serviceCidr, name: own } = twin.cluster();
        return name === own ? { version, endpoint, certificateAuthority, serviceCidr } : undefined;
      }),
  };
}

/** The account and region that calls are made in. */
export const accountOf = ({ account }: CloudTwin, run: Run): Account => ({
  identity: () =>
    run('sts:GetCallerIdentity', () => ({ accountId: account.accountId, region: account.region })),
});
