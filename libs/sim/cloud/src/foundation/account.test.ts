import { describe, expect, test } from 'vitest';

import { accountFor } from '../index.js';

describe('the account that scenarios run in', () => {
  test.each([
    ['us-east-1', 6],
    ['us-west-2', 4],
    ['eu-west-1', 3],
  ])('has in %s a subnet in each of %d zones, whose id says the zone id', (region, count) => {
    const { subnets } = accountFor(region, { clusterName: 'lab' });
    expect(subnets).toHaveLength(count);
    expect(new Set(subnets.map(({ id }) => id)).size).toBe(count);
    for (const { zone, zoneId } of subnets) {
      expect(zone.startsWith(region)).toBe(true);
      expect(zoneId).toMatch(/^[a-z]+\d-az\d$/);
    }
  });

  test('has subnets only in the zones that are named, by letter or whole', () => {
    const zones = (wanted: readonly string[]): readonly string[] =>
      accountFor('us-west-2', { clusterName: 'lab', zones: wanted }).subnets.map(
        ({ zone }) => zone,
      );
    expect(zones(['a', 'b', 'd'])).toEqual(['us-west-2a', 'us-west-2b', 'us-west-2d']);
    expect(zones(['us-west-2b'])).toEqual(['us-west-2b']);
    expect(() => zones(['e'])).toThrow(
      'zones: us-west-2e is not a zone of us-west-2; it has us-west-2a, us-west-2b, us-west-2c, us-west-2d',
    );
    expect(() => accountFor('mars-1', { clusterName: 'lab' })).toThrow(
      'region "mars-1" is not in the catalog',
    );
  });

  test('has what every scenario selects by', () => {
    const account = accountFor('eu-west-1', { clusterName: 'lab' });
    const tags = {
      'kubernetes.io/cluster/lab': 'owned',
      'karpenter.sh/discovery': 'lab',
      'alpha.eksctl.io/cluster-name': 'lab',
    };
    for (const subnet of account.subnets) expect(subnet.tags).toMatchObject(tags);
    for (const group of account.securityGroups)
      expect(group.tags).toMatchObject({ ...tags, 'aws:eks:cluster-name': 'lab' });
    expect(account.instanceProfiles).toMatchObject([
      { name: 'KarpenterNodeInstanceProfile-lab', roles: ['KarpenterNodeRole-lab'] },
    ]);
    expect(account).toMatchObject({ queueName: 'lab', cluster: { name: 'lab', version: '1.32' } });
  });

  test('marks prices that stand in for others', () => {
    const price = (region: string) =>
      accountFor(region, { clusterName: 'lab' }).types.find(
        ({ facts }) => facts.name === 'm5.large',
      );
    expect(price('us-east-1')).toMatchObject({
      onDemandPriceMicros: 96_000,
      priceEstimated: false,
    });
    expect(price('eu-west-1')).toMatchObject({ priceEstimated: true });
  });
});
