import { labels } from '@dovetail/core-api';
import type { Offering } from '@dovetail/core-ec2-model';
import {
  admits,
  firstUntolerated,
  isCompatible,
  type Requirements,
} from '@dovetail/core-kube-model';

import { intersects } from '../model/daemons.js';
import type { NodeFilter } from '../model/groups.js';
import type { Offer, Template } from '../model/templates.js';
import { admitsOffering } from '../model/type-rooms.js';

/** Returns an offering's value for a label that offerings decide; undefined for every other key. */
function offeringValue(offering: Offering, key: string): string | undefined {
  switch (key) {
    case labels.zone:
      return offering.zone;
    case labels.capacityType:
      return offering.capacityType;
    case labels.zoneId:
      return offering.zoneId;
    default:
      return undefined;
  }
}

// Pods may name thousands of topology keys that no node has.
const namedKeys = new WeakMap<Template, ReadonlySet<string>>();

/** Whether new nodes of a template may have a value for this label by themselves. */
export function mayName(template: Template, key: string): boolean {
  const known =
    namedKeys.get(template) ??
    new Set([
      ...[labels.zone, labels.capacityType, labels.zoneId],
      ...template.requirements.keys(),
      ...template.offers.flatMap(({ type }) => [...type.type.requirements.keys()]),
    ]);
  namedKeys.set(template, known);
  return known.has(key);
}

/**
 * Returns the values that a new node may still take for a key, sorted. They follow from its
 * requirements and remaining offers.
 */
export function openDomains(
  requirements: Requirements,
  offers: readonly Offer[],
  key: string,
): readonly string[] {
  const values = new Set<string>();
  const wanted = requirements.get(key);
  const seen = new Set<string>();
  for (const { type, offering } of offers) {
    const value = offeringValue(offering, key);
    if (value !== undefined) {
      values.add(value);
      continue;
    }
    if (seen.has(type.type.name)) continue;
    seen.add(type.type.name);
    const set = type.type.requirements.get(key) ?? wanted;
    if (set?.kind === 'in')
      for (const one of set.values)
        if (wanted === undefined || admits(wanted, one)) values.add(one);
  }
  return [...values].sort();
}

/**
 * Returns the domains of a key that new nodes of a template could be in and that a spread with this
 * filter counts, sorted.
 */
export function templateDomains(
  template: Template,
  key: string,
  what: { readonly filter: NodeFilter; readonly wellKnown: ReadonlySet<string> },
): readonly string[] {
  const { tolerations, alternatives } = what.filter;
  if (
    tolerations !== undefined &&
    firstUntolerated(template.pool.taints, tolerations) !== undefined
  )
    return [];
  if (alternatives === undefined) return openDomains(template.requirements, template.offers, key);
  const found = new Set<string>();
  for (const wanted of alternatives) {
    if (!isCompatible(template.requirements, wanted, { allowUndefined: what.wellKnown })) continue;
    const offers = template.offers.filter(
      ({ type, offering }) =>
        admitsOffering(wanted, offering) && intersects(type.type.requirements, wanted),
    );
    const set = wanted.get(key);
    for (const domain of openDomains(template.requirements, offers, key))
      if (set === undefined || admits(set, domain)) found.add(domain);
  }
  return [...found].sort();
}

/** Whether a spread with this filter counts a node. */
export function filterAdmits(
  filter: NodeFilter,
  node: {
    readonly requirements: Requirements;
    readonly taints: Parameters<typeof firstUntolerated>[0];
  },
): boolean {
  if (
    filter.tolerations !== undefined &&
    firstUntolerated(node.taints, filter.tolerations) !== undefined
  )
    return false;
  return (
    filter.alternatives === undefined ||
    filter.alternatives.some((wanted) =>
      isCompatible(node.requirements, wanted, { allowUndefined: new Set() }),
    )
  );
}
