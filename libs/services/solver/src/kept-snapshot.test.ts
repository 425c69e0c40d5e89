import type { StateValue } from '@dovetail/contracts';
import { nodeClassValue, poolValue } from '@dovetail/core-api/testing';
import { existingNodes, typesOfClaim } from '@dovetail/core-cluster';
import type { Pod } from '@dovetail/core-kube-model';
import { podValue } from '@dovetail/core-kube-model/testing';
import { RandomNumbers } from '@dovetail/core-scheduling';
import { m5Claim, m5Node, m5Types } from '@dovetail/sim-stage';
import { describe, expect, test } from 'vitest';

import { Mirror } from './mirror.js';
import { snapshotOf } from './snapshot.js';

const names = ['n1', 'n2', 'n3', 'n4'];
const claims = ['c1', 'c2'];
const uids = Array.from({ length: 12 }, (_, index) => `p${index}`);
const none = new Set<string>();

function teller(mirror: Mirror): (state: StateValue) => void {
  let sequence = 0;
  return (state) => {
    const { uid } = state.value as { readonly uid: string };
    sequence += 1;
    const record = { kind: 'set', uid, state, generation: '1.1' } as const;
    mirror.applyState({ kind: 'record', record, sequence, timeMs: 0 });
  };
}

function mirrorOf(): { readonly mirror: Mirror; readonly tell: (state: StateValue) => void } {
  const mirror = new Mirror();
  const tell = teller(mirror);
  tell({ kind: 'nodeclass', value: nodeClassValue('default') });
  tell({ kind: 'pool', value: poolValue('default') });
  const part = { classUid: 'class-default', revision: 'r1', part: 0, parts: 1 };
  mirror.catalog.apply({ kind: 'class', part: { ...part, instanceTypes: m5Types }, sequence: 1 });
  for (const name of names) tell({ kind: 'node', value: m5Node(name) });
  for (const name of claims) tell({ kind: 'claim', value: m5Claim(name) });
  return { mirror, tell };
}

/** The nodes made anew, from the types that the snapshot's own nodes are made of. */
function madeAnew(mirror: Mirror, choices: Parameters<typeof snapshotOf>[1]) {
  const types = new Map(m5Types.map((type) => [type.name, type]));
  const catalog = { revision: 'r1', typesOf: () => types };
  return existingNodes(mirror.cluster, {
    ...choices,
    typesOf: (claim) => typesOfClaim(catalog, mirror.cluster, claim),
    promisedTo: (holderUid) => mirror.promisedTo(holderUid),
  });
}

describe('a snapshot', () => {
  test.each([1, 2, 3, 4, 5])(
    'has the nodes that are made anew, whatever has changed (seed %i)',
    (seed) => {
      const random = new RandomNumbers(seed);
      const some = <T>(all: readonly T[]): readonly T[] => all.filter(() => random.below(3) === 0);
      const { mirror, tell } = mirrorOf();
      for (let turn = 0; turn < 60; turn += 1) {
        for (const uid of random.below(2) === 0 ? some(uids) : []) {
          const nodeName = names[random.below(names.length + 1)];
          const bound: Partial<Pod> =
            nodeName === undefined ? {} : { nodeName, phase: 'Running', unschedulable: false };
          tell({ kind: 'pod', value: podValue(uid, bound) });
        }
        const choices = {
          without: new Set(some([...names, ...claims])),
          moving: new Set(some(uids)),
          nowMs: turn,
        };
        expect(snapshotOf(mirror, choices).nodes).toEqual(madeAnew(mirror, choices));
      }
    },
  );

  test('keeps its nodes and types as long as nothing changes', () => {
    const { mirror, tell } = mirrorOf();
    tell({ kind: 'pod', value: podValue('a', { nodeName: 'n1', phase: 'Running' }) });
    const all = snapshotOf(mirror, { without: none, moving: none, nowMs: 0 });
    const one = snapshotOf(mirror, { without: none, moving: new Set(['a']), nowMs: 1 });
    expect(one.pools[0]?.instanceTypes).toBe(all.pools[0]?.instanceTypes);
    const same = one.nodes.map((node, index) => node === all.nodes[index]);
    expect(same).toEqual(all.nodes.map(({ name }) => name !== 'n1'));
  });

  test('avoids an offering without capacity from the moment of the mark to its end', () => {
    const { mirror } = mirrorOf();
    const isAvoided = (nowMs: number): boolean =>
      snapshotOf(mirror, { without: none, moving: none, nowMs }).pools.some(({ instanceTypes }) =>
        instanceTypes.some((type) => type.offerings.some(({ available }) => !available)),
      );
    expect(isAvoided(0)).toBe(false);
    const [type] = m5Types;
    const mark = {
      zone: 'us-east-1a',
      capacityType: 'on-demand',
      untilMs: 10,
      failures: 1,
    } as const;
    const offering = { ...mark, instanceType: type?.name ?? '', awsCode: 'None' };
    mirror.catalog.apply({ kind: 'unavailable', offering, sequence: 2 });
    expect([1, 9, 10, 9].map(isAvoided)).toEqual([true, true, false, true]);
  });
});
