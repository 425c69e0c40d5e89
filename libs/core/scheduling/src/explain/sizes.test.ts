import { present } from '@dovetail/core-invariant';
import type { Pod } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { defaultPlanOptions } from '../options.js';
import { Engine } from '../rooms/engine.js';
import {
  daemonSetOf,
  gibibytes,
  offeringOf,
  podOf,
  poolOf,
  snapshotOf,
  typeOf,
} from '../testing/objects.js';
import { worldOf } from '../world/world.js';
import { sizeReason } from './sizes.js';

const typeKey = 'node.kubernetes.io/instance-type';
/** Of two types one has more cores, the other more memory. */
const types = [
  { name: 'c.8', cpuMillis: 8000, memoryBytes: gibibytes(8) },
  { name: 'r.2', cpuMillis: 2000, memoryBytes: gibibytes(64) },
].map((spec) => typeOf({ ...spec, offerings: [offeringOf('a', 'on-demand', 100)] }));
const daemonSets = [daemonSetOf('agent', { requests: { cpu: 500, memory: 0 } })];

function reasonFor(pod: Partial<Pod>) {
  const snapshot = snapshotOf({
    pools: [{ pool: poolOf('default'), instanceTypes: types }],
    daemonSets,
  });
  const world = worldOf(snapshot, [podOf('p', pod)], defaultPlanOptions);
  const cls = present(world.classes[0], 'the pod has a class');
  const shape = present(cls.levels[0]?.shapes[0], 'a class has a shape');
  const root = world.states.root(present(world.templates[0], 'the pool is open'));
  const state = present(world.states.after(root, shape), 'the labels leave types');
  return sizeReason(new Engine(world), state, cls);
}

describe('a pod that no type holds', () => {
  test.each<[string, Partial<Pod>, string, Readonly<Record<string, string>>]>([
    [
      'is too large',
      { requests: { cpu: 9000, memory: 0 } },
      'resources-too-large',
      { resource: 'cpu', requested: '9', largest: '7500m' },
    ],
    [
      'would fit without daemonsets',
      { requests: { cpu: 8000, memory: 0 } },
      'daemonset-overhead',
      { resource: 'cpu', requested: '8', largest: '7500m' },
    ],
    [
      'is too large for the types that its labels leave',
      { requests: { cpu: 4000, memory: 0 }, nodeSelector: { [typeKey]: 'r.2' } },
      'resources-too-large',
      { resource: 'cpu', requested: '4', largest: '1500m', steps: 'labels 1 of 2, cpu 1 of 1' },
    ],
    [
      'asks for what no type has',
      { requests: { cpu: 100, memory: 0, gpu: 1 } },
      'resources-too-large',
      { resource: 'gpu', requested: '1', largest: '0' },
    ],
    [
      'is too large for the types that have the cores',
      { requests: { cpu: 4000, memory: gibibytes(32) } },
      'resources-too-large',
      { resource: 'memory', requested: '32Gi', largest: '8Gi', steps: 'cpu 1 of 2, memory 1 of 1' },
    ],
  ])('%s', (_, pod, code, values) => {
    const reason = reasonFor(pod);
    expect(reason).toMatchObject({ code, subject: 'NodePool/default' });
    expect(reason.values).toMatchObject(values);
  });

  test.each<[number, boolean]>([
    [999_999, false],
    [1_000_000, true],
  ])('with %d millicores is asked about millicores: %s', (cpu, asked) => {
    const { message } = reasonFor({ requests: { cpu, memory: 0 } });
    expect(message.includes('did you mean millicores (m)?')).toBe(asked);
  });

  test('names daemonsets exactly while a type without them would do', () => {
    fc.assert(
      fc.property(fc.integer({ min: 7501, max: 12_000 }), (cpu) => {
        const { code } = reasonFor({ requests: { cpu, memory: 0 } });
        expect(code).toBe(cpu <= 8000 ? 'daemonset-overhead' : 'resources-too-large');
      }),
      { seed: 1, numRuns: 50 },
    );
  });
});
