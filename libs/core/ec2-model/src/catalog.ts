import { type CatalogLine, parseCatalogLine, zoneMaskAt } from './catalog-line.js';
import type { InstanceTypeFacts } from './facts.js';
import { catalogPriceRegion, catalogRegionLines, catalogTypeLines } from './generated/catalog.js';

export { catalogPriceRegion };

/**
 * A type as one region offers it, from the committed snapshot of public facts. Production asks EC2
 * instead.
 */
export type CatalogEntry = {
  readonly facts: InstanceTypeFacts;
  /** The zones that offer the type, sorted. Invariant: never empty. */
  readonly zones: readonly string[];
  /**
   * US dollars per hour, in millionths. Absent when no public source names a price; then it cannot
   * be bought.
   */
  readonly onDemandPriceMicrosPerHour?: number;
  /**
   * True in every region but us-east-1. The snapshot has only prices of us-east-1, and other
   * regions use them unscaled; real ones are mostly 0 to 40 % higher.
   */
  readonly estimated: boolean;
};

/**
 * A zone and its id. The id means one place for every account; the pairing here is that of one
 * account.
 */
export type CatalogZone = { readonly name: string; readonly id: string };

type CatalogRegion = {
  readonly name: string;
  readonly zones: readonly CatalogZone[];
  readonly index: number;
};

// The table is parsed once, on first use. It is constant, so these functions stay pure.
let parsedLines: readonly CatalogLine[] | undefined;
let parsedRegions: readonly CatalogRegion[] | undefined;
let factsByName: ReadonlyMap<string, InstanceTypeFacts> | undefined;
const entriesByRegion = new Map<string, readonly CatalogEntry[]>();

const lines = (): readonly CatalogLine[] =>
  (parsedLines ??= catalogTypeLines.split('\n').map(parseCatalogLine));
const regions = (): readonly CatalogRegion[] =>
  (parsedRegions ??= catalogRegionLines.split('\n').map(parseRegion));

/** The regions of the catalog, sorted. */
export const catalogRegions = (): readonly string[] => regions().map((region) => region.name);

/**
 * The zones of a region, sorted by name. Throws RangeError for a region that the catalog does not
 * know.
 */
export const catalogZones = (region: string): readonly CatalogZone[] => regionNamed(region).zones;

/**
 * Every type that a region offers, sorted by name. Throws RangeError for a region that the catalog
 * does not know.
 */
export function catalogFor(region: string): readonly CatalogEntry[] {
  const remembered = entriesByRegion.get(region);
  if (remembered !== undefined) return remembered;
  const found = regionNamed(region);
  const entries = lines().flatMap((line) => entryOf(line, found));
  entriesByRegion.set(region, entries);
  return entries;
}

/** The facts of a type in any region. Undefined when the catalog does not have it. */
export function catalogFacts(instanceType: string): InstanceTypeFacts | undefined {
  factsByName ??= new Map(lines().map(({ facts }) => [facts.name, facts]));
  return factsByName.get(instanceType);
}

function regionNamed(name: string): CatalogRegion {
  const region = regions().find((candidate) => candidate.name === name);
  if (region === undefined)
    throw new RangeError(
      `region "${name}" is not in the catalog; it knows ${catalogRegions().join(', ')}`,
    );
  return region;
}

function parseRegion(text: string, index: number): CatalogRegion {
  const [name = '', ...zones] = text.split(' ');
  return {
    name,
    index,
    zones: zones
      .map((zone) => zone.split('='))
      .map(([zoneName = '', id = '']) => ({ name: zoneName, id })),
  };
}

function entryOf(line: CatalogLine, region: CatalogRegion): readonly CatalogEntry[] {
  const mask = zoneMaskAt(line, region.index);
  if (mask === 0) return [];
  const zones = region.zones
    .filter((_, index) => (mask & (1 << index)) !== 0)
    .map((zone) => zone.name);
  const price =
    line.priceMicrosPerHour === undefined
      ? {}
      : { onDemandPriceMicrosPerHour: line.priceMicrosPerHour };
  return [{ facts: line.facts, zones, ...price, estimated: region.name !== catalogPriceRegion }];
}
