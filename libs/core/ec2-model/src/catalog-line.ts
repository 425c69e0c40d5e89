import { assert, at } from '@dovetail/core-invariant';

import type { AcceleratorFacts, GpuFacts, InstanceTypeFacts } from './facts.js';

/** One line of the generated table. */
export type CatalogLine = {
  readonly facts: InstanceTypeFacts;
  /**
   * US dollars per hour in the catalog's price region, in millionths. Absent when no source names
   * it.
   */
  readonly priceMicrosPerHour?: number;
  /** A mask of zones for each region, in the order of the region lines, one character each. */
  readonly zoneMasks: string;
};

const zoneMaskAlphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_';
const usageClasses: readonly (readonly [string, string])[] = [
  ['b', 'capacity-block'],
  ['o', 'on-demand'],
  ['s', 'spot'],
];

/** The zones of a region that offer the type: bit n stands for its zone n. */
export const zoneMaskAt = (line: CatalogLine, regionIndex: number): number =>
  Math.max(0, zoneMaskAlphabet.indexOf(line.zoneMasks.charAt(regionIndex)));

/** The fields of a line; see `parseCatalogLine`. */
const fieldCount = 22;

/**
 * Reads a line of the generated table. Its fields, in order, are: name, architecture (a or x),
 * vCPUs, memory MiB, hypervisor, flags (m metal, t burstable, e encryption in transit, o
 * EBS-optimised by default, n local NVMe, c current generation), usage classes, interfaces,
 * addresses per interface, EFA interfaces, cards, network Mbps, EBS Mbps baseline and maximum, CPU
 * maker, clock MHz, GPUs (name:maker:count:MiB), accelerators (name:maker:count:cores), local GB,
 * branch interfaces, price in micro-dollars, zone masks. An empty field is unknown or does not
 * apply. Throws InvariantError for a line of another shape, because the table is generated.
 */
export function parseCatalogLine(text: string): CatalogLine {
  const fields = text.split('|');
  assert(fields.length === fieldCount, 'a line of the catalog has 22 fields');
  const field = (index: number): string => at(fields, index);
  const flags = field(5);
  const facts: InstanceTypeFacts = {
    name: field(0),
    arch: field(1) === 'a' ? 'arm64' : 'amd64',
    vcpus: Number(field(2)),
    memoryMib: Number(field(3)),
    hypervisor: field(4),
    bareMetal: flags.includes('m'),
    burstable: flags.includes('t'),
    supportedUsageClasses: usageClassesOf(field(6)),
    network: {
      interfacesMax: Number(field(7)),
      ipv4PerInterface: Number(field(8)),
      efaMax: Number(field(9)),
      encryptionInTransit: flags.includes('e'),
      ...known('baselineMbps', field(11)),
      ...known('cards', field(10)),
    },
    ebs: {
      optimizedByDefault: flags.includes('o'),
      ...known('baselineMbps', field(12)),
      ...known('maximumMbps', field(13)),
    },
    cpu: {
      ...(field(14) === '' ? {} : { manufacturer: field(14) }),
      ...known('sustainedClockMhz', field(15)),
    },
    gpus: list(field(16)).map(gpuOf),
    accelerators: list(field(17)).map(acceleratorOf),
    localNvme: flags.includes('n'),
    ...known('localStorageGb', field(18)),
    ...known('branchInterfaces', field(19)),
  };
  return { facts, ...known('priceMicrosPerHour', field(20)), zoneMasks: field(21) };
}

// A handful of combinations serve all types, so each is built once.
const usageClassesByLetters = new Map<string, readonly string[]>();
function usageClassesOf(letters: string): readonly string[] {
  let names = usageClassesByLetters.get(letters);
  if (names === undefined)
    usageClassesByLetters.set(
      letters,
      (names = usageClasses.filter(([letter]) => letters.includes(letter)).map(([, name]) => name)),
    );
  return names;
}

const known = <Key extends string>(key: Key, text: string): Partial<Record<Key, number>> => {
  const value: Partial<Record<string, number>> = text === '' ? {} : { [key]: Number(text) };
  return value;
};

const emptyList: string[][] = [];
const list = (text: string): string[][] =>
  text === '' ? emptyList : text.split(';').map((item) => item.split(':'));

const gpuOf = ([name = '', manufacturer = '', count, memoryMib]: string[]): GpuFacts => ({
  name,
  manufacturer,
  count: Number(count),
  memoryMib: Number(memoryMib),
});

const acceleratorOf = ([
  name = '',
  manufacturer = '',
  count,
  cores = '',
]: string[]): AcceleratorFacts => ({
  name,
  manufacturer,
  count: Number(count),
  ...known('coresPerDevice', cores),
});
