import { ec2NodeClassOf, type ResolvedAmi } from '@dovetail/core-api';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { AmiQuery } from './ami-queries.js';
import { amiFor, amiStatusOf, chooseAmis, variantFor } from './ami-selection.js';
import { catalogFacts } from './catalog.js';
import { image } from './testing/images.js';

fc.configureGlobal({ seed: 1 });

const byOwner: AmiQuery = { kind: 'images', filters: [] };

describe('which image is taken', () => {
  test.each([
    ['the newer one', [image('old', { createdMs: 1 }), image('new', { createdMs: 2 })], 'new'],
    [
      'one that is not deprecated',
      [image('old', { createdMs: 1 }), image('new', { createdMs: 2, deprecated: true })],
      'old',
    ],
    [
      'the greater name of two as new',
      [image('b', { createdMs: 1 }), image('a', { createdMs: 1 })],
      'b',
    ],
  ])('%s', (_what, images, id) => expect(chooseAmis([{ query: byOwner, images }])[0]?.id).toBe(id));

  test('each architecture and driver has its own, newest first', () => {
    const parameter = (
      arch: 'amd64' | 'arm64',
      variants: readonly ('standard' | 'nvidia' | 'neuron')[],
    ): AmiQuery => ({ kind: 'parameter', name: 'p', arch, variants });
    const chosen = chooseAmis([
      {
        query: parameter('amd64', ['standard', 'neuron']),
        images: [image('ami-x', { createdMs: 3 })],
      },
      {
        query: parameter('arm64', ['standard']),
        images: [image('ami-a', { createdMs: 5, arch: 'arm64' })],
      },
    ]);
    expect(chosen.map((one) => `${one.id} ${one.arch} ${one.variant}`)).toEqual([
      'ami-a arm64 standard',
      'ami-x amd64 neuron',
      'ami-x amd64 standard',
    ]);
    const facts = (name: string) =>
      catalogFacts(name) ??
      (() => {
        throw new Error(name);
      })();
    expect(
      [facts('m6g.large'), facts('m5.large'), facts('inf2.xlarge'), facts('g5.xlarge')].map(
        (f) => amiFor(chosen, f)?.id,
      ),
    ).toEqual(['ami-a', 'ami-x', 'ami-x', undefined]);
  });

  test('an image that the author chose serves every device, and stands once in the status', () => {
    const chosen = chooseAmis([{ query: byOwner, images: [image('ami-mine')] }]);
    expect(amiStatusOf(chosen)).toEqual([
      {
        id: 'ami-mine',
        name: 'ami-mine',
        requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
      },
    ]);
  });
});

describe('the choice', () => {
  test('does not depend on the order of the answers', () =>
    fc.assert(
      fc.property(
        fc.uniqueArray(
          fc.record({
            id: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
            createdMs: fc.nat({ max: 2 }),
            deprecated: fc.boolean(),
            arch: fc.constantFrom('amd64' as const, 'arm64' as const),
          }),
          { selector: ({ id }) => id },
        ),
        (parts) => {
          const images = parts.map(({ id, ...changes }) => image(id, changes));
          expect(chooseAmis([{ query: byOwner, images: images.toReversed() }])).toEqual(
            chooseAmis([{ query: byOwner, images }]),
          );
        },
      ),
    ));

  test('has one image at most for each architecture and driver', () => {
    const images = ['a', 'b', 'c'].map((id) => image(id));
    const keys = chooseAmis([{ query: byOwner, images }]).map(
      ({ arch, variant }) => `${arch} ${variant}`,
    );
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('leaves out an image of another architecture than was asked for', () => {
    const query: AmiQuery = { kind: 'parameter', name: 'p', arch: 'arm64', variants: ['standard'] };
    expect(chooseAmis([{ query, images: [image('x')] }])).toEqual([]);
  });
});

test.each([
  ['m5.large', 'standard'],
  ['g4dn.xlarge', 'nvidia'],
  ['inf2.xlarge', 'neuron'],
])('%s needs the drivers of %s', (name, variant) => {
  const facts = catalogFacts(name);
  expect(facts === undefined ? undefined : variantFor(facts)).toBe(variant);
});

test('an image in a class status is read back as it was found, in any choice of images', () => {
  const anyAmi = fc.record({
    id: fc.constantFrom('ami-1', 'ami-2', 'ami-3'),
    variant: fc.constantFrom('standard' as const, 'nvidia' as const, 'neuron' as const),
  });
  const archOf = (id: string): ResolvedAmi['arch'] => (id === 'ami-3' ? 'arm64' : 'amd64');
  const terms = [{ id: 'ami-1' }];
  const spec = {
    role: 'node',
    amiFamily: 'AL2023',
    subnetSelectorTerms: [{ id: 'subnet-1' }],
    securityGroupSelectorTerms: [{ id: 'sg-1' }],
    amiSelectorTerms: terms,
  };
  const text = ({ id, name, arch, variant, deprecated }: ResolvedAmi): string =>
    [id, name, arch, variant, deprecated].join(' ');
  fc.assert(
    fc.property(fc.uniqueArray(anyAmi, { selector: (one) => JSON.stringify(one) }), (found) => {
      const amis = found.map((one): ResolvedAmi => ({
        ...one,
        name: `image ${one.id}`,
        arch: archOf(one.id),
        deprecated: one.id === 'ami-2',
      }));
      const written = {
        metadata: { name: 'c', uid: 'u' },
        spec,
        status: { amis: amiStatusOf(amis) },
      };
      const read = ec2NodeClassOf(written);
      if (!read.ok) throw new Error(`${read.field}: ${read.remedy}`);
      expect(read.value.status.amis.map(text).toSorted()).toEqual(amis.map(text).toSorted());
    }),
  );
});
