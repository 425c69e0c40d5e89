import type { NodeSelectorTerm, Pod, RequirementSpec } from '@dovetail/core-kube-model';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';

import { surelyFitsElsewhere } from './room.js';
import { node, pod } from './testing/objects.js';

fc.configureGlobal({ seed: 1 });

const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' } as const;

describe('room elsewhere, judged without the planner', () => {
  const host = (more = {}, pods: readonly Pod[] = []) => ({ node: node('n2', more), pods });
  test.each([
    ['enough', [pod('a')], [host()], true],
    ['taken by others', [pod('a')], [host({}, [pod('x', { requests: { cpu: 3500 } })])], false],
    [
      'enough only over two',
      [pod('a', { requests: { cpu: 3000 } }), pod('b', { requests: { cpu: 3000 } })],
      [host(), { node: node('n3'), pods: [] }],
      true,
    ],
    [
      'not for a pod that selects another label',
      [pod('a', { nodeSelector: { disk: 'ssd' } })],
      [host()],
      false,
    ],
    ['not on a cordoned node', [pod('a')], [host({ cordoned: true })], false],
    ['not on a retiring node', [pod('a')], [host({ taints: [disrupted] })], false],
    [
      'not past a taint',
      [pod('a')],
      [host({ taints: [{ key: 'team', effect: 'NoSchedule' }] })],
      false,
    ],
    [
      'never for a pod that spreads',
      [
        pod('a', {
          topologySpread: [
            {
              maxSkew: 1,
              topologyKey: 'zone',
              whenUnsatisfiable: 'DoNotSchedule',
              nodeAffinityPolicy: 'Honor',
              nodeTaintsPolicy: 'Ignore',
            },
          ],
        }),
      ],
      [host()],
      false,
    ],
    [
      'never for a pod with a volume',
      [pod('a', { volumes: [{ claimName: 'v' }] })],
      [host()],
      false,
    ],
  ] as const)('%s', (_what, pods, hosts, fits) =>
    expect(surelyFitsElsewhere(pods, hosts)).toBe(fits),
  );
});

test('room never grows with more pods, nor shrinks with more nodes', () =>
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 5000 }), { maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 5000 }), { maxLength: 4 }),
      (needed, sizes) => {
        const pods = needed.map((cpu, index) => pod(`p${String(index)}`, { requests: { cpu } }));
        const hosts = sizes.map((cpu, index) => ({
          node: node(`h${String(index)}`, { allocatable: { cpu } }),
          pods: [],
        }));
        const fits = surelyFitsElsewhere(pods, hosts);
        if (fits) {
          expect(surelyFitsElsewhere(pods.slice(1), hosts)).toBe(true);
          expect(surelyFitsElsewhere(pods, [...hosts, { node: node('z'), pods: [] }])).toBe(true);
          const sum = (amounts: readonly number[]): number => amounts.reduce((a, b) => a + b, 0);
          expect(sum(needed)).toBeLessThanOrEqual(sum(sizes));
        }
      },
    ),
  ));

test.each<[string, NodeSelectorTerm, boolean]>([
  ['an empty term matches nothing', { matchExpressions: [], matchFields: [] }, false],
  ['fields are left to the planner', term('metadata.name', 'In', 'n2', 'matchFields'), false],
  ['comparisons are left to the planner', term('size', 'Gt', '1'), false],
  ['a label that the node has', term('zone', 'In', 'a'), true],
  ['a value that it has not', term('zone', 'NotIn', 'a'), false],
  ['a label that it lacks', term('gpu', 'DoesNotExist'), true],
  ['a label that must be there', term('gpu', 'Exists'), false],
])('a required term: %s', (_name, required, fits) =>
  expect(
    surelyFitsElsewhere(
      [pod('a', { requiredNodeAffinity: [required] })],
      [{ node: node('n2', { labels: { zone: 'a', size: '2' } }), pods: [] }],
    ),
  ).toBe(fits),
);

function term(
  key: string,
  operator: RequirementSpec['operator'],
  value?: string,
  part: 'matchExpressions' | 'matchFields' = 'matchExpressions',
): NodeSelectorTerm {
  const spec = { key, operator, values: value === undefined ? [] : [value] };
  return { matchExpressions: [], matchFields: [], [part]: [spec] };
}
