import { labels } from '@dovetail/core-api';
import {
  type CapacityType,
  catalogFacts,
  factLabels,
  type InstanceType,
  type Offering,
} from '@dovetail/core-ec2-model';
import {
  Malformed,
  type Parsed,
  parsed,
  type Raw,
  readEach,
  readFlag,
  readList,
  readRecord,
  readRequiredText,
  readRequirementSpecs,
  readResources,
  readTexts,
  type Requirements,
  requirementsOf,
  type Resources,
  subtractResources,
  type ValueSet,
} from '@dovetail/core-kube-model';

/** How to read a catalog file. */
export type KwokOptions = {
  /**
   * Adds AWS' own labels, which the format lacks, to types that Dovetail's catalog knows by name.
   */
  readonly awsLabels: boolean;
};

/** The KWOK provider takes this overhead off each type, and Karpenter plans with the same. */
const kwokOverhead: Resources = { cpu: 100, memory: 10 * 1024 ** 2 };
const podsByDefault = 110;

const oneOf = (values: Iterable<string>): ValueSet => ({
  kind: 'in',
  values: new Set(values),
  present: true,
});

function capacityTypeOf(text: string, field: string): CapacityType {
  if (text === 'on-demand' || text === 'spot' || text === 'reserved') return text;
  throw new Malformed(field, text, 'write on-demand, spot or reserved');
}

/** No instance costs as much. Sums of prices below stay exact in micro-dollars. */
const dollarsEnd = 1e6;

function readPrice(raw: unknown, field: string): number {
  if (typeof raw !== 'number' || !(raw >= 0 && raw < dollarsEnd))
    throw new Malformed(
      field,
      raw,
      'write US dollars per hour, a number of 0 or more and less than a million',
    );
  return Math.round(raw * 1_000_000);
}

const valuesAt = (requirements: Requirements, key: string): readonly string[] => [
  ...(requirements.get(key)?.values ?? []),
];

/** One entry may name several zones or capacity types. Each pair is an offering. */
function readOffering(item: Raw, path: string): readonly Offering[] {
  const requirements = requirementsOf(
    readRequirementSpecs(item['Requirements'] ?? item['requirements'], `${path}.Requirements`),
  );
  const zones = valuesAt(requirements, labels.zone);
  const capacityTypes = valuesAt(requirements, labels.capacityType).map((text) =>
    capacityTypeOf(text, `${path}.Requirements`),
  );
  if (zones.length === 0 || capacityTypes.length === 0)
    throw new Malformed(
      `${path}.Requirements`,
      item['Requirements'],
      `name ${labels.zone} and ${labels.capacityType} with operator In`,
    );
  const [zoneId] = valuesAt(requirements, labels.zoneId);
  const shared = {
    priceMicrosPerHour: readPrice(item['Price'] ?? item['price'], `${path}.Price`),
    available: readFlag(item['Available'] ?? item['available'], `${path}.Available`) ?? true,
    priceEstimated: false,
    ...(zoneId === undefined ? {} : { zoneId }),
  };
  return zones.flatMap((zone) =>
    capacityTypes.map((capacityType): Offering => ({ zone, capacityType, ...shared })),
  );
}

type PlainEntry = {
  readonly key?: unknown;
  readonly operator?: unknown;
  readonly values?: unknown;
  readonly minValues?: unknown;
} | null;

/** The one value of a requirement of the form `key In [value]`; undefined for any other. */
function plainRequirement(entry: PlainEntry): readonly [key: string, value: unknown] | undefined {
  if (entry?.operator !== 'In' || entry.minValues !== undefined) return undefined;
  const { key, values } = entry;
  if (typeof key !== 'string' || !Array.isArray(values) || values.length !== 1) return undefined;
  return [key, values[0]];
}

/** The zone and capacity type of an entry that has these two requirements and no other. */
function plainPlace(entries: unknown): Pick<Offering, 'zone' | 'capacityType'> | undefined {
  if (!Array.isArray(entries) || entries.length !== 2) return undefined;
  const found = new Map(
    (entries as readonly PlainEntry[]).flatMap((entry) => {
      const read = plainRequirement(entry);
      return read === undefined ? [] : [read];
    }),
  );
  const zone = found.get(labels.zone);
  const capacityType = found.get(labels.capacityType);
  if (typeof zone !== 'string' || (capacityType !== 'on-demand' && capacityType !== 'spot'))
    return undefined;
  return { zone, capacityType };
}

/**
 * Reads an offering of the most frequent form without tracking its path. Returns undefined for any
 * other, which `readOffering` then reads or refuses by field.
 */
function plainOffering(item: unknown): Offering | undefined {
  const {
    Price: price,
    Available: available = true,
    Requirements: entries,
  } = item as { Price?: unknown; Available?: unknown; Requirements?: unknown };
  if (
    typeof price !== 'number' ||
    !(price >= 0 && price < dollarsEnd) ||
    typeof available !== 'boolean'
  )
    return undefined;
  const place = plainPlace(entries);
  if (place === undefined) return undefined;
  const priceMicrosPerHour = Math.round(price * 1_000_000);
  return { ...place, priceMicrosPerHour, available, priceEstimated: false };
}

function readOfferings(raw: unknown, field: string): readonly Offering[] {
  const list = readList(raw, field);
  const plain = list.flatMap((item) =>
    typeof item === 'object' && item !== null ? (plainOffering(item) ?? []) : [],
  );
  return plain.length === list.length ? plain : readEach(raw, field, readOffering).flat();
}

/** The provider's own labels, from the type's name and size. */
function kwokLabels(name: string, capacity: Resources): readonly (readonly [string, ValueSet])[] {
  const cpus = String(Math.floor((capacity['cpu'] ?? 0) / 1000));
  const match = /^([a-z0-9-]+?)[.-]([a-z0-9-]+)$/.exec(name);
  return [
    ['karpenter.kwok.sh/instance-size', oneOf([match?.[2] ?? cpus])],
    ['karpenter.kwok.sh/instance-family', oneOf([match?.[1] ?? name.slice(0, 1)])],
    ['karpenter.kwok.sh/instance-cpu', oneOf([cpus])],
    [
      'karpenter.kwok.sh/instance-memory',
      oneOf([String(Math.floor((capacity['memory'] ?? 0) / 1024 ** 2))]),
    ],
  ];
}

type Given = {
  readonly name: string;
  readonly architecture: string;
  readonly systems: readonly string[];
  readonly capacity: Resources;
  readonly offerings: readonly Offering[];
};

function requirementsOfType(given: Given, { awsLabels }: KwokOptions): Requirements {
  const facts = awsLabels ? catalogFacts(given.name) : undefined;
  return new Map<string, ValueSet>([
    ...(facts === undefined ? [] : factLabels(facts, 'AL2023')),
    ...kwokLabels(given.name, given.capacity),
    [labels.instanceType, oneOf([given.name])],
    [labels.arch, oneOf([given.architecture])],
    [labels.os, oneOf(given.systems)],
    [labels.zone, oneOf(given.offerings.map((offering) => offering.zone))],
    [labels.capacityType, oneOf(given.offerings.map((offering) => offering.capacityType))],
  ]);
}

function readType(item: Raw, path: string, options: KwokOptions): InstanceType {
  const resources = readResources(item['resources'], `${path}.resources`);
  const capacity =
    resources['pods'] === undefined ? { ...resources, pods: podsByDefault } : resources;
  const given: Given = {
    name: readRequiredText(item['name'], `${path}.name`),
    architecture: readRequiredText(item['architecture'], `${path}.architecture`),
    systems: readTexts(item['operatingSystems'], `${path}.operatingSystems`),
    capacity,
    offerings: readOfferings(item['offerings'], `${path}.offerings`),
  };
  return {
    name: given.name,
    requirements: requirementsOfType(given, options),
    offerings: given.offerings,
    capacity,
    allocatable: subtractResources(capacity, kwokOverhead),
  };
}

/** A catalog in the KWOK provider's format: a JSON array of types. */
export function kwokTypes(raw: unknown, options: KwokOptions): Parsed<readonly InstanceType[]> {
  return parsed(() => {
    if (!Array.isArray(raw))
      throw new Malformed(
        '',
        raw,
        "write a list of instance types, as the KWOK provider's file is",
      );
    return readList(raw, '').map((item, index) =>
      readType(readRecord(item, `[${index}]`), `[${index}]`, options),
    );
  });
}
