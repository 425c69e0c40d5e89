import type { TwinType } from '../foundation/account.js';
import { AwsFault, invalidValue } from '../foundation/aws-fault.js';
import { admitted, type FilterValues } from '../foundation/filters.js';
import type { CloudTwin } from '../twin/cloud-twin.js';
import { instanceTypeXml } from './instance-type-xml.js';
import type { QueryOperations } from './operation.js';
import { pageOf } from './paging.js';
import { filtersOf, type Params } from './params.js';
import { items, type Xml } from './xml.js';

const typeFilters: ReadonlySet<string> = new Set([
  'instance-type',
  'processor-info.supported-architecture',
  'supported-virtualization-type',
  'bare-metal',
  'burstable-performance-supported',
  'current-generation',
  'hypervisor',
  'supported-usage-class',
  'instance-storage-supported',
  'supported-root-device-type',
]);

function typeValues({ facts }: TwinType): FilterValues {
  return (name) => {
    switch (name) {
      case 'instance-type':
        return [facts.name];
      case 'processor-info.supported-architecture':
        return [facts.arch === 'amd64' ? 'x86_64' : 'arm64'];
      case 'supported-virtualization-type':
        return ['hvm'];
      case 'supported-root-device-type':
        return ['ebs'];
      case 'bare-metal':
        return [String(facts.bareMetal)];
      case 'burstable-performance-supported':
        return [String(facts.burstable)];
      case 'current-generation':
        return ['true'];
      case 'hypervisor':
        return facts.hypervisor === '' ? [] : [facts.hypervisor];
      case 'supported-usage-class':
        return facts.supportedUsageClasses;
      case 'instance-storage-supported':
        return [String(facts.localStorageGb !== undefined)];
      default:
        return undefined;
    }
  };
}

function describeInstanceTypes(
  twin: CloudTwin,
  params: Params,
): { readonly [element: string]: Xml } {
  const names = params.texts('InstanceType');
  const unknown = names.filter((name) => !twin.types.has(name));
  if (unknown.length > 0)
    throw new AwsFault(
      'InvalidInstanceType',
      `The following supplied instance types do not exist: [${unknown.join(', ')}]`,
    );
  if (names.length > 0 && params.integer('MaxResults') !== undefined)
    throw new AwsFault(
      'InvalidParameterCombination',
      'The parameter MaxResults cannot be used with the parameter InstanceTypes in the same call.',
    );
  const asked =
    names.length === 0 ? twin.account.types : names.flatMap((name) => twin.types.get(name) ?? []);
  const { page, nextToken } = pageOf(
    admitted(asked, filtersOf(params), typeValues, typeFilters),
    params,
    { min: 5, max: 100, default: 100 },
  );
  return { instanceTypeSet: items(page.map(({ facts }) => instanceTypeXml(facts))), nextToken };
}

const locationsOf = (twin: CloudTwin, type: TwinType, locationType: string): readonly string[] => {
  switch (locationType) {
    case 'region':
      return [twin.account.region];
    case 'availability-zone':
      return type.zones;
    default:
      throw invalidValue('LocationType', locationType, 'Use region or availability-zone.');
  }
};

function describeOfferings(twin: CloudTwin, params: Params): { readonly [element: string]: Xml } {
  const locationType = params.text('LocationType') ?? 'region';
  const offerings = twin.account.types.flatMap((type) =>
    locationsOf(twin, type, locationType).map((location) => ({
      instanceType: type.facts.name,
      location,
    })),
  );
  const found = admitted(
    offerings,
    filtersOf(params),
    ({ instanceType, location }) =>
      (name) =>
        name === 'instance-type' ? [instanceType] : [location],
    new Set(['instance-type', 'location']),
  );
  const { page, nextToken } = pageOf(found, params, { min: 5, max: 1000, default: 1000 });
  return {
    instanceTypeOfferingSet: items(
      page.map(({ instanceType, location }) => ({ instanceType, locationType, location })),
    ),
    nextToken,
  };
}

/** The operations on instance types and their offerings. */
export const ec2Catalog: QueryOperations = {
  DescribeInstanceTypes: { run: describeInstanceTypes },
  DescribeInstanceTypeOfferings: { run: describeOfferings },
};
