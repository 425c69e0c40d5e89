import { labels } from '@dovetail/core-api';
import { catalogFacts, factLabels, type CapacityType, type InstanceType, type Offering } from '@dovetail/core-ec2-model';
import {
  Malformed, parsed, readEach, readFlag, readList, readRecord, readRequirementSpecs, readRequiredText, readResources, readTexts, requirementsOf, subtractResources,
  type Parsed, type Raw, type Requirements, type Resources, type ValueSet,
} from '@dovetail/core-kube-model';

/** What the KWOK provider takes off each type, as Karpenter does when it plans with such a file. */
const kwokOverhead: Resources = { cpu: 100, memory: 10 * 1024 ** 2 };
const podsByDefault = 110;

const oneOf = (values: Iterable<string>): ValueSet => ({ kind: 'in', values: new Set(values), present: true });

function capacityTypeOf(text: string, field: string): CapacityType {
  if (text === 'on-demand' || text === 'spot' || text === 'reserved') return text;
  throw new Malformed(field, text, 'write on-demand, spot or reserved');
}

function readPrice(raw: unknown, field: string): number {
  if (typeof raw !== 'number' || !Number.isFinite(raw) || raw < 0) throw new Malformed(field, raw, 'write US dollars per hour, a number of 0 or more');
  return Math.round(raw * 1_000_000);
}

const valuesAt = (requirements: Requirements, key: string): readonly string[] => [...(requirements.get(key)?.values ?? [])];

/** One entry may name several zones or capacity types; each pair is an offering. */
function readOffering(item: Raw, path: string): readonly Offering[] {
  const requirements = requirementsOf(readRequirementSpecs(item['Requirements'] ?? item['requirements'], `${path}.Requirements`));
  const zones = valuesAt(requirements, labels.zone);
  const capacityTypes = valuesAt(requirements, labels.capacityType).map((text) => capacityTypeOf(text, `${path}.Requirements`));
  if (zones.length === 0 || capacityTypes.length === 0) throw new Malformed(`${path}.Requirements`, item['Requirements'], `name ${labels.zone} and ${labels.capacityType} with operator In`);
  const [zoneId] = valuesAt(requirements, labels.zoneId);
  const shared = {
    priceMicrosPerHour: readPrice(item['Price'] ?? item['price'], `${path}.Price`),
    available: readFlag(item['Available'] ?? item['available'], `${path}.Available`) ?? true,
    priceEstimated: false,
    ...(zoneId === undefined ? {} : { zoneId }),
  };
  return zones.flatMap((zone) => capacityTypes.map((capacityType): Offering => ({ zone, capacityType, ...shared })));
}

/** An entry of the shape that nearly every one of thousands has, read without checks of its paths; undefined for any other. */
function plainOffering(item: unknown): Offering | undefined {
  const { Price: price, Available: available = true, Requirements: entries } = item as { Price?: unknown; Available?: unknown; Requirements?: unknown };
  if (typeof price !== 'number' || !(price >= 0 && price < 1e6) || typeof available !== 'boolean' || !Array.isArray(entries) || entries.length !== 2) return undefined;
  const found: Record<string, unknown> = {};
  for (const entry of entries as readonly ({ key?: unknown; operator?: unknown; values?: unknown; minValues?: unknown } | null)[]) {
    if (entry === null || entry.operator !== 'In' || typeof entry.key !== 'string' || !Array.isArray(entry.values) || entry.values.length !== 1 || entry.minValues !== undefined) return undefined;
    found[entry.key] = entry.values[0];
  }
  const zone = found[labels.zone];
  const capacityType = found[labels.capacityType];
  if (typeof zone !== 'string' || (capacityType !== 'on-demand' && capacityType !== 'spot')) return undefined;
  return { zone, capacityType, priceMicrosPerHour: Math.round(price * 1_000_000), available, priceEstimated: false };
}

function readOfferings(raw: unknown, field: string): readonly Offering[] {
  const list = readList(raw, field);
  const plain = list.flatMap((item) => (typeof item === 'object' && item !== null ? plainOffering(item) ?? [] : []));
  return plain.length === list.length ? plain : readEach(raw, field, readOffering).flat();
}

/** The provider's own labels, from the type's name and size. */
function kwokLabels(name: string, capacity: Resources): readonly (readonly [string, ValueSet])[] {
  const cpus = String(Math.floor((capacity['cpu'] ?? 0) / 1000));
  const match = /^([a-z0-9-]+?)[.-]([a-z0-9-]+)$/.exec(name);
  return [
    ['karpenter.kwok.sh/instance-size', oneOf([match?.[2] ?? cpus])], ['karpenter.kwok.sh/instance-family', oneOf([match?.[1] ?? name.slice(0, 1)])],
    ['karpenter.kwok.sh/instance-cpu', oneOf([cpus])], ['karpenter.kwok.sh/instance-memory', oneOf([String(Math.floor((capacity['memory'] ?? 0) / 1024 ** 2))])],
  ];
}

type Given = { readonly name: string; readonly architecture: string; readonly systems: readonly string[]; readonly capacity: Resources; readonly offerings: readonly Offering[] };

function requirementsOfType(given: Given, aws: 'with-aws-labels' | 'plain'): Requirements {
  const facts = aws === 'plain' ? undefined : catalogFacts(given.name);
  return new Map<string, ValueSet>([
    ...(facts === undefined ? [] : factLabels(facts, 'AL2023')),
    ...kwokLabels(given.name, given.capacity),
    [labels.instanceType, oneOf([given.name])], [labels.arch, oneOf([given.architecture])], [labels.os, oneOf(given.systems)],
    [labels.zone, oneOf(given.offerings.map((offering) => offering.zone))], [labels.capacityType, oneOf(given.offerings.map((offering) => offering.capacityType))],
  ]);
}

function readType(item: Raw, path: string, aws: 'with-aws-labels' | 'plain'): InstanceType {
  const resources = readResources(item['resources'], `${path}.resources`);
  const capacity = resources['pods'] === undefined ? { ...resources, pods: podsByDefault } : resources;
  const given: Given = {
    name: readRequiredText(item['name'], `${path}.name`), architecture: readRequiredText(item['architecture'], `${path}.architecture`),
    systems: readTexts(item['operatingSystems'], `${path}.operatingSystems`), capacity,
    offerings: readOfferings(item['offerings'], `${path}.offerings`),
  };
  return { name: given.name, requirements: requirementsOfType(given, aws), offerings: given.offerings, capacity, allocatable: subtractResources(capacity, kwokOverhead) };
}

/**
 * A catalog in the KWOK provider's format: a JSON array of types. AWS' own labels (instance-family and so on) are not in
 * that format; `with-aws-labels` adds those of types that Dovetail's catalog knows by the same name.
 */
export function kwokTypes(raw: unknown, aws: 'with-aws-labels' | 'plain'): Parsed<readonly InstanceType[]> {
  return parsed(() => {
    if (!Array.isArray(raw)) throw new Malformed('', raw, "write a list of instance types, as the KWOK provider's file is");
    return readList(raw, '').map((item, index) => readType(readRecord(item, `[${index}]`), `[${index}]`, aws));
  });
}
