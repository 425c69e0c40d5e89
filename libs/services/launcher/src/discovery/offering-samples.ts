import type { Pool } from '@dovetail/core-api';
import { type CatalogView, classKey, type Cluster } from '@dovetail/core-cluster';
import { instanceLabels, type InstanceType } from '@dovetail/core-ec2-model';
import type { MetricSample, ScrapedMetrics, StopSignal } from '@dovetail/core-ports';

/** The parts that show what may be launched. */
type OfferingSources = {
  readonly pools: { values(): Iterable<Pool> };
  readonly catalog: Pick<CatalogView, 'typesOf'>;
};

const mebibyte = 1024 ** 2;

/** The number that all nodes of a type have as this label; undefined if it has none. */
function numberOf({ requirements }: InstanceType, label: string): number | undefined {
  const [value] = requirements.get(label)?.values ?? [];
  return value === undefined ? undefined : Number(value);
}

/** The types of the classes of all pools, as each pool boots them. */
function* typesOf({ pools, catalog }: OfferingSources): Iterable<InstanceType> {
  const seen = new Set<ReadonlyMap<string, InstanceType>>();
  for (const { classRef, kubelet } of pools.values()) {
    const types = catalog.typesOf(classKey(classRef), kubelet);
    if (seen.has(types)) continue;
    seen.add(types);
    yield* types.values();
  }
}

function sizes(sources: OfferingSources, label: string, factor = 1): readonly MetricSample[] {
  const found = new Map<string, number>();
  for (const type of typesOf(sources)) {
    const size = numberOf(type, label);
    if (size !== undefined) found.set(type.name, size * factor);
  }
  return [...found].map(([instance_type, value]) => ({ value, labels: { instance_type } }));
}

type Merge = (offering: InstanceType['offerings'][number], before: number | undefined) => number;

/** A sample for each type, zone and capacity type. `merge` joins those of several pools. */
function offerings(sources: OfferingSources, merge: Merge): readonly MetricSample[] {
  const found = new Map<string, { value: number; readonly labels: Record<string, string> }>();
  for (const { name, offerings: all } of typesOf(sources))
    for (const offering of all) {
      const labels = {
        instance_type: name,
        zone: offering.zone,
        capacity_type: offering.capacityType,
      };
      const key = Object.values(labels).join('/');
      found.set(key, { labels, value: merge(offering, found.get(key)?.value) });
    }
  return [...found.values()];
}

/** The samples of each metric of instance types, by its name. */
export const offeringSamples = (
  sources: OfferingSources,
): Readonly<Record<string, () => Iterable<MetricSample>>> => ({
  karpenter_cloudprovider_instance_type_cpu_cores: () => sizes(sources, instanceLabels.cpu),
  karpenter_cloudprovider_instance_type_memory_bytes: () =>
    sizes(sources, instanceLabels.memory, mebibyte),
  // Available to any pool counts, as for Karpenter.
  karpenter_cloudprovider_instance_type_offering_available: () =>
    offerings(sources, ({ available }, before = 0) => Math.max(before, available ? 1 : 0)),
  karpenter_cloudprovider_instance_type_offering_price_estimate: () =>
    offerings(sources, ({ priceMicrosPerHour }) => priceMicrosPerHour / 1e6),
});

/** Shows what may be launched, until `stop` is aborted. */
export function showOfferings(
  { scraped, cluster }: { readonly scraped: ScrapedMetrics; readonly cluster: Cluster },
  { catalog }: Pick<OfferingSources, 'catalog'>,
  stop: StopSignal,
): void {
  const samples = offeringSamples({ pools: cluster.pools, catalog });
  const ends = Object.entries(samples).map(([name, source]) => scraped.show(name, source));
  const end = (): void => {
    for (const each of ends) each();
  };
  stop.addEventListener('abort', end, { once: true });
}
