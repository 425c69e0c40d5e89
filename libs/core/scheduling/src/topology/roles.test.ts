import { describe, expect, test } from 'vitest';

import type { Level, PodClass } from '../model/classes.js';
import type { Group } from '../model/groups.js';
import { rolesOf } from './roles.js';

const groupOf = (id: number, over: Partial<Group> = {}): Group => ({
  id,
  kind: 'spread',
  key: 'zone',
  onHost: false,
  hard: true,
  selector: undefined,
  namespaces: new Set(),
  maxSkew: 1,
  minDomains: 1,
  filter: {},
  text: `group ${id}`,
  ...over,
});
const zone = groupOf(0);
const host = groupOf(1, { key: 'kubernetes.io/hostname', onHost: true });
const rack = groupOf(2, { key: 'rack' });
const mates = groupOf(3, { kind: 'affinity', key: 'kubernetes.io/hostname', onHost: true });

const rolesFor = (carries: readonly Group[], selectedBy: readonly Group[]) => {
  const level: Level = { shapes: [], carries };
  return rolesOf({ selectedBy } as unknown as PodClass, level);
};

describe('the roles of a class', () => {
  test.each<[string, readonly Group[], readonly Group[], boolean, boolean]>([
    ['follows a rule and is counted by it', [zone], [zone], true, true],
    ['follows a rule that does not count it', [zone], [], true, false],
    ['is counted by a rule that it does not follow', [], [zone], false, true],
  ])('say that it %s', (_what, carried, selecting, carries, selected) => {
    expect(rolesFor(carried, selecting).onDomain).toEqual([{ group: zone, carries, selected }]);
  });

  test('are none without groups', () => {
    expect(rolesFor([], [])).toEqual({
      onHost: [],
      onDomain: [],
      domainKeys: [],
      needsHostMates: false,
    });
  });

  test('keep hosts apart from other domains, and are in the order of the groups', () => {
    const roles = rolesFor([rack, host], [zone, host]);
    expect(roles.onHost.map(({ group }) => group)).toEqual([host]);
    expect(roles.onDomain.map(({ group }) => group)).toEqual([zone, rack]);
    expect(roles.domainKeys).toEqual(['rack', 'zone']);
  });

  test('name a key once that several groups are over', () => {
    expect(rolesFor([zone, groupOf(4)], []).domainKeys).toEqual(['zone']);
  });

  test.each<[string, readonly Group[], readonly Group[], boolean]>([
    ['it must be beside pods of its own host', [mates], [], true],
    ['others must be beside it only', [], [mates], false],
    ['it spreads over hosts only', [host], [host], false],
  ])('say whether it needs mates on its host: %s', (_what, carried, selecting, needs) => {
    expect(rolesFor(carried, selecting).needsHostMates).toBe(needs);
  });
});
