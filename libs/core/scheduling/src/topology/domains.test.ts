import { type Pool } from '@dovetail/core-api';
import { requirementsOf, type RequirementSpec, type Taint } from '@dovetail/core-kube-model';
import { describe, expect, test } from 'vitest';

import type { NodeFilter } from '../model/groups.js';
import { defaultPlanOptions } from '../options.js';
import { gibibytes, offeringOf, poolOf, snapshotOf, typeOf } from '../testing/objects.js';
import { worldOf } from '../world/world.js';
import { filterAdmits, openDomains, templateDomains } from './domains.js';

const zone = 'topology.kubernetes.io/zone';
const capacityType = 'karpenter.sh/capacity-type';
const family = 'karpenter.k8s.aws/instance-family';
const within = (key: string, ...values: readonly string[]): RequirementSpec => ({
  key,
  operator: 'In',
  values,
});
const size = { cpuMillis: 1000, memoryBytes: gibibytes(2) };
const instanceTypes = [
  typeOf({
    ...size,
    name: 'c.1',
    labels: { [family]: 'c' },
    offerings: [offeringOf('b', 'on-demand', 10), offeringOf('a', 'spot', 3)],
  }),
  typeOf({
    ...size,
    name: 'm.1',
    labels: { [family]: 'm' },
    offerings: [offeringOf('c', 'on-demand', 11, { zoneId: 'use1-az1' })],
  }),
];

/** The one template of a world with this pool. */
function templateOf(over: Partial<Pool> = {}) {
  const snapshot = snapshotOf({ pools: [{ pool: poolOf('default', over), instanceTypes }] });
  const world = worldOf(snapshot, [], defaultPlanOptions);
  const [template] = world.templates;
  if (template === undefined) throw new Error('the pool is open');
  return { template, wellKnown: world.wellKnown };
}

describe('the domains that a new node may still be in', () => {
  const { template } = templateOf();
  test.each<[string, string, readonly RequirementSpec[], readonly string[]]>([
    ['the zones of its offers', zone, [], ['a', 'b', 'c']],
    ['their capacity types', capacityType, [], ['on-demand', 'spot']],
    ['their zone ids, where they have one', 'topology.k8s.aws/zone-id', [], ['use1-az1']],
    ['the values of its types', family, [], ['c', 'm']],
    ['of those the ones that it still admits', family, [within(family, 'm')], ['m']],
    [
      'its own values, for a label that types leave open',
      'rack',
      [within('rack', '2', '1')],
      ['1', '2'],
    ],
    ['none, for a label that nothing says', 'rack', [], []],
    [
      'none, for a label of which only a value is excluded',
      'rack',
      [{ key: 'rack', operator: 'NotIn', values: ['1'] }],
      [],
    ],
  ])('are %s', (_what, key, specs, domains) => {
    expect(openDomains(requirementsOf(specs), template.offers, key)).toEqual(domains);
  });

  test('are none without offers', () => {
    expect(openDomains(requirementsOf([within(zone, 'a')]), [], zone)).toEqual([]);
  });
});

describe('the domains of a pool that a spread counts', () => {
  const gpu: Taint = { key: 'gpu', effect: 'NoSchedule' };
  const domainsOf = (filter: NodeFilter, over: Partial<Pool> = {}, key = zone) => {
    const { template, wellKnown } = templateOf(over);
    return templateDomains(template, key, { filter, wellKnown });
  };
  const demanding = (...alternatives: readonly (readonly RequirementSpec[])[]): NodeFilter => ({
    alternatives: alternatives.map(requirementsOf),
  });

  test.each<[string, NodeFilter, Partial<Pool>, readonly string[]]>([
    ['all, without a filter', {}, {}, ['a', 'b', 'c']],
    ['those that the pool offers', {}, { requirements: [within(zone, 'a', 'c')] }, ['a', 'c']],
    ['those that the pods admit', demanding([within(zone, 'a', 'b')]), {}, ['a', 'b']],
    ['those of the types that the pods admit', demanding([within(family, 'm')]), {}, ['c']],
    [
      'those of the offers that the pods admit',
      demanding([within(capacityType, 'spot')]),
      {},
      ['a'],
    ],
    [
      'those that one of their alternatives admits',
      demanding([within(zone, 'a')], [within(zone, 'c')]),
      {},
      ['a', 'c'],
    ],
    ['none, where no alternative fits the pool', demanding([within('team', 'red')]), {}, []],
    ['none, where a taint counts and is not tolerated', { tolerations: [] }, { taints: [gpu] }, []],
    [
      'all, where the taint is tolerated',
      { tolerations: [{ operator: 'Exists' }] },
      { taints: [gpu] },
      ['a', 'b', 'c'],
    ],
    ['all, where taints do not count', {}, { taints: [gpu] }, ['a', 'b', 'c']],
  ])('are %s', (_what, filter, over, domains) => {
    expect(domainsOf(filter, over)).toEqual(domains);
  });
});

describe('a spread counts a node', () => {
  const node = {
    requirements: requirementsOf([within('disk', 'ssd')]),
    taints: [{ key: 'gpu', effect: 'NoSchedule' }] as readonly Taint[],
  };
  const demanding = (...values: readonly string[]) =>
    values.map((value) => requirementsOf([within('disk', value)]));
  test.each<[string, NodeFilter, boolean]>([
    ['always, without a filter', {}, true],
    ['that its pods could use', { alternatives: demanding('ssd') }, true],
    ['that one of their alternatives admits', { alternatives: demanding('hdd', 'ssd') }, true],
    ['not, if none of them admits it', { alternatives: demanding('hdd') }, false],
    [
      'not, if it has not a label that they demand',
      { alternatives: [requirementsOf([within('rack', '1')])] },
      false,
    ],
    ['not, if a taint counts and is not tolerated', { tolerations: [] }, false],
    ['if the taint is tolerated', { tolerations: [{ key: 'gpu', operator: 'Exists' }] }, true],
  ])('%s', (_what, filter, counts) => {
    expect(filterAdmits(filter, node)).toBe(counts);
  });
});
