import { present } from '@dovetail/core-invariant';
import { requirementsOf, type RequirementSpec } from '@dovetail/core-kube-model';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { Offer, Template } from '../model/templates.js';
import { defaultPlanOptions } from '../options.js';
import { gibibytes, offeringOf, podOf, poolOf, snapshotOf, typeOf } from '../testing/objects.js';
import { worldOf } from '../world/world.js';
import { mismatchReason, narrowing, typeReason } from './types.js';

const zoneKey = 'topology.kubernetes.io/zone';
const archKey = 'kubernetes.io/arch';
const type = (name: string, arch: string, zone: string, family: string) =>
  typeOf({
    name,
    arch,
    cpuMillis: 2000,
    memoryBytes: gibibytes(8),
    labels: { family },
    offerings: [offeringOf(zone, 'on-demand', 100)],
  });
const snapshot = snapshotOf({
  pools: [
    {
      pool: poolOf('default'),
      instanceTypes: [
        type('c.2', 'amd64', 'a', 'c'),
        type('m.2', 'amd64', 'b', 'm'),
        type('g.2', 'arm64', 'b', 'g'),
      ],
    },
  ],
});
const world = worldOf(snapshot, [podOf('p')], defaultPlanOptions);
const template: Template = present(world.templates[0], 'the pool is open');
const is = (key: string, ...values: readonly string[]): RequirementSpec => ({
  key,
  operator: 'In',
  values,
});
const narrowed = (offers: readonly Offer[], specs: readonly RequirementSpec[]) =>
  narrowing(offers, requirementsOf(specs));

describe('the offers of a pool are narrowed key by key', () => {
  test.each<[string, readonly RequirementSpec[], readonly string[], string | undefined]>([
    ['by nothing', [], [], undefined],
    ['by one key', [is(archKey, 'amd64')], [`${archKey} 1 of 3`], undefined],
    [
      'in the order of names, each counting what is left',
      [is(zoneKey, 'b'), is(archKey, 'amd64')],
      [`${archKey} 1 of 3`, `${zoneKey} 1 of 2`],
      undefined,
    ],
    [
      'up to the key that ends them',
      [is(zoneKey, 'a'), is(archKey, 'arm64'), is('zzz', 'x')],
      [`${archKey} 2 of 3`, `${zoneKey} 1 of 1`],
      zoneKey,
    ],
    ['by a value that no type has', [is(archKey, 'riscv')], [`${archKey} 3 of 3`], archKey],
  ])('%s', (_, specs, steps, ended) => {
    const made = narrowed(template.offers, specs);
    expect(made.steps.map(({ what, fell, of }) => `${what} ${fell} of ${of}`)).toEqual(steps);
    expect(made.ended).toBe(ended);
  });

  test('and each step begins with what the one before left', () => {
    const wanted = fc.record({
      arch: fc.subarray(['amd64', 'arm64'], { minLength: 1 }),
      zone: fc.subarray(['a', 'b'], { minLength: 1 }),
      family: fc.subarray(['c', 'm', 'g'], { minLength: 1 }),
    });
    fc.assert(
      fc.property(wanted, ({ arch, zone, family }) => {
        const { steps, ended } = narrowed(template.offers, [
          is(archKey, ...arch),
          is(zoneKey, ...zone),
          is('family', ...family),
        ]);
        let left = 3;
        for (const { of, fell } of steps) {
          expect(of).toBe(left);
          left -= fell;
        }
        expect(ended === undefined).toBe(left > 0);
      }),
      { seed: 1 },
    );
  });
});

describe('the label at which the last type falls', () => {
  const reasonFor = (nodeSelector: Readonly<Record<string, string>>) => {
    const { classes } = worldOf(snapshot, [podOf('p', { nodeSelector })], defaultPlanOptions);
    return typeReason(template, present(classes[0]?.levels[0]?.shapes[0], 'a class has a shape'));
  };
  test('is named with the values that are offered, and the one that was probably meant', () => {
    expect(reasonFor({ [archKey]: 'arm65' })).toMatchObject({
      code: 'requirement-mismatch',
      subject: 'NodePool/default',
      values: { key: archKey, wanted: 'In [arm65]', offered: 'In [amd64, arm64]' },
      fell: { count: 3, of: 3 },
      remedy: 'write arm64',
    });
  });

  test('is asked to be offered, or dropped, when nothing is close to it', () => {
    const { message, remedy } = reasonFor({ family: 'purple' });
    expect(message).not.toContain('did you mean');
    expect(remedy).toContain('or drop it from the pod');
  });

  test('is preferred alone: of two wrong labels the one that no type has', () => {
    expect(reasonFor({ [zoneKey]: 'a', [archKey]: 'riscv' })).toMatchObject({
      values: { key: archKey },
    });
  });

  test('is several where each alone would do', () => {
    expect(reasonFor({ [zoneKey]: 'a', [archKey]: 'arm64' })).toMatchObject({
      code: 'no-offering',
      values: { keys: `${archKey}, ${zoneKey}`, steps: `${archKey} 2 of 3, ${zoneKey} 1 of 1` },
      fell: { count: 1, of: 1 },
    });
  });
});

describe('a label that the pool does not define', () => {
  const reasonFor = (key: string, keys: readonly string[]) =>
    mismatchReason('NodePool/default', {
      mismatch: { key, wanted: 'In [x]', offered: 'label not defined' },
      offers: template.offers,
      steps: [],
      keys,
    });
  test.each<[string, readonly string[], string, string]>([
    ['tean', ['team'], 'requirement-mismatch', 'write team'],
    [
      'colour',
      ['team'],
      'requirement-mismatch',
      'let NodePool/default offer colour In [x], or drop it from the pod',
    ],
    ['kubernetes.io/hostname', [], 'restricted-label', 'drop kubernetes.io/hostname from the pod'],
  ])('%s where %j are known: %s', (key, keys, code, remedy) => {
    expect(reasonFor(key, keys)).toMatchObject({ code, remedy, fell: { count: 3, of: 3 } });
  });
});
