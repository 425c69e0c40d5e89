import {
  catalogFor,
  type InstanceType,
  instanceTypesFor,
  priceBookOf,
} from '@dovetail/core-ec2-model';

import { nodeClass, region } from './objects.js';

const generation = (name: string): number => Number(/^[a-z]+(\d+)/.exec(name)?.[1] ?? 0);

/**
 * Real c, m and r types for amd64 of generation 5 and later, on-demand in us-east-1, with at most
 * this many vCPUs.
 */
export function realTypes(vcpusMax: number): readonly InstanceType[] {
  const entries = catalogFor(region).filter(
    ({ facts, onDemandPriceMicrosPerHour }) =>
      /^[cmr]\d/.test(facts.name) &&
      facts.arch === 'amd64' &&
      !facts.bareMetal &&
      generation(facts.name) >= 5 &&
      facts.vcpus <= vcpusMax &&
      facts.gpus.length === 0 &&
      onDemandPriceMicrosPerHour !== undefined,
  );
  const { types } = instanceTypesFor(nodeClass(), {
    region,
    facts: entries.map((entry) => entry.facts),
    zones: new Map(entries.map((entry) => [entry.facts.name, entry.zones])),
    prices: priceBookOf(
      entries.map((entry) => ({
        instanceType: entry.facts.name,
        capacityType: 'on-demand',
        priceMicrosPerHour: entry.onDemandPriceMicrosPerHour ?? 0,
        estimated: false,
      })),
    ),
    isUnavailable: () => false,
  });
  const onDemand = types.map((type) => ({
    ...type,
    offerings: type.offerings.filter((one) => one.capacityType === 'on-demand' && one.available),
  }));
  return onDemand.filter((type) => type.offerings.length > 0);
}
