import type { ClassCatalog, UnavailableOffering } from '@dovetail/contracts';
import { wholeCapacityType } from '@dovetail/core-ec2-model';
import { m5Types } from '@dovetail/sim-stage';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';

import { CatalogMirror } from './catalog-mirror.js';

let mirror: CatalogMirror;
beforeEach(() => {
  mirror = new CatalogMirror();
});
const types = m5Types.slice(0, 2);
const part = (revision: string, index: number, parts: number): ClassCatalog => ({
  classUid: 'c',
  revision,
  part: index,
  parts,
  instanceTypes: types.slice(index, index + 1),
});
const apply = (...parts: readonly ClassCatalog[]): void => {
  for (const each of parts) mirror.apply({ kind: 'class', sequence: 1, part: each });
};

describe('a catalog', () => {
  test('counts once all of its parts are here', () => {
    apply(part('r1', 0, 2));
    expect([mirror.of('c'), mirror.revision()]).toEqual([undefined, '']);
    apply(part('r1', 1, 2));
    expect([mirror.of('c')?.types.length, mirror.revision()]).toEqual([2, 'c=r1']);
  });

  test('stays as it was while a newer revision arrives', () => {
    apply(part('r1', 0, 1), part('r2', 0, 2));
    expect(mirror.of('c')?.revision).toBe('r1');
    apply(part('r2', 1, 2));
    expect(mirror.of('c')?.revision).toBe('r2');
  });

  test('is forgotten with its stream', () => {
    apply(part('r1', 0, 1));
    mirror.apply({ kind: 'caught-up', position: { incarnation: 'i', lastSequence: 1 } } as never);
    mirror.apply({ kind: 'reset' } as never);
    expect([mirror.of('c'), mirror.caughtUp]).toEqual([undefined, false]);
  });

  test('is forgotten with its class', () => {
    apply(part('r1', 0, 1));
    mirror.apply({ kind: 'class-gone', classUid: 'c', part: 1, sequence: 2 });
    expect(mirror.of('c')?.revision).toBe('r1');
    mirror.apply({ kind: 'class-gone', classUid: 'c', part: 0, sequence: 3 });
    expect([mirror.of('c'), mirror.revision()]).toEqual([undefined, '']);
  });

  test('shares the types that another class has too', () => {
    const copy = (): ClassCatalog => structuredClone(part('r1', 0, 1));
    apply(copy(), { ...copy(), classUid: 'd' });
    const [c, d] = [mirror.of('c')?.types[0], mirror.of('d')?.types[0]];
    expect(c).toBe(d);
    const dearer = { ...copy(), classUid: 'd', revision: 'r2' };
    const [first] = dearer.instanceTypes;
    apply({ ...dearer, instanceTypes: [{ ...first!, allocatable: { cpu: 1 } }] });
    expect(mirror.of('c')?.types[0]).toBe(c);
    expect(mirror.of('d')?.types[0]?.allocatable).toEqual({ cpu: 1 });
  });

  test('has the types of its parts in order, in whatever order they arrive', () => {
    const order = fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 5 });
    fc.assert(
      fc.property(order, (indexes) => {
        const arriving = new CatalogMirror();
        for (const index of indexes)
          arriving.apply({
            kind: 'class',
            sequence: 1,
            part: {
              ...part('r', index, 5),
              instanceTypes: types.slice(0, 1).map((type) => ({ ...type, name: String(index) })),
            },
          });
        expect(arriving.of('c')?.types.map(({ name }) => name)).toEqual(['0', '1', '2', '3', '4']);
      }),
    );
  });
});

test('an offering is unavailable until its time, and only that one', () => {
  const offering: UnavailableOffering = {
    instanceType: 'm5.large',
    zone: 'a',
    capacityType: 'spot',
    untilMs: 10,
    awsCode: 'InsufficientInstanceCapacity',
    failures: 1,
  };
  mirror.apply({ kind: 'unavailable', sequence: 1, offering } as never);
  expect(mirror.isUnavailable(offering, 9)).toBe(true);
  expect(mirror.isUnavailable(offering, 10)).toBe(false);
  expect(mirror.isUnavailable({ ...offering, capacityType: 'on-demand' }, 9)).toBe(false);
  expect(mirror.unavailableCount).toBe(1);
  const whole = { ...offering, ...wholeCapacityType('on-demand') };
  mirror.apply({ kind: 'unavailable', sequence: 2, offering: whole } as never);
  expect(mirror.isUnavailable({ ...offering, capacityType: 'on-demand' }, 9)).toBe(true);
});
