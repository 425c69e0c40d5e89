import { createHash } from 'node:crypto';

import { annotations, type NodeClaim } from '@dovetail/core-api';
import { claimValue } from '@dovetail/core-api/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { spotRequest } from '../testing/values.js';
import {
  carriedIntent,
  fleetRequestOf,
  intentIdOf,
  intentOf,
  parseIntent,
  renderIntent,
} from './intent.js';

const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');
const intent = intentOf(
  { attempt: 1, createdMs: 5, members: ['b', 'a'], request: spotRequest },
  sha256Hex,
);
const claimCarrying = (name: string, carried = intent): NodeClaim =>
  claimValue(name, { annotations: { [annotations.launchIntent]: renderIntent(carried) } });

const arbitraryOverride = fc
  .record({ instanceType: fc.string(), subnetId: fc.string(), zone: fc.string() })
  .map((override) => ({ ...override }));
const arbitraryContent = fc.record({
  attempt: fc.integer({ min: 1, max: 20 }),
  createdMs: fc.nat(),
  members: fc.array(fc.string(), { minLength: 1 }).map((names) => [...names].sort()),
  request: fc.record({
    capacityType: fc.constantFrom('spot' as const, 'on-demand' as const),
    count: fc.nat(),
    allocation: fc.constantFrom('price-capacity-optimized' as const, 'lowest-price' as const),
    tags: fc.dictionary(fc.string(), fc.string()).map((tags) => ({ ...tags })),
    configs: fc.array(
      fc.record({ launchTemplateName: fc.string(), overrides: fc.array(arbitraryOverride) }),
    ),
  }),
});

describe('a launch intent', () => {
  test('is the same for the same content, whatever the order of its members', () => {
    expect(intent.members).toEqual(['a', 'b']);
    expect(
      intentOf({ attempt: 1, createdMs: 5, members: ['a', 'b'], request: spotRequest }, sha256Hex)
        .id,
    ).toBe(intent.id);
  });
  test.each([
    ['another attempt', { attempt: 2 }],
    ['another moment', { createdMs: 6 }],
    ['another member', { members: ['a', 'c'] }],
    ['another request', { request: { ...spotRequest, allocation: 'lowest-price' as const } }],
  ])('%s is another intent', (_what, change) =>
    expect(
      intentOf(
        { attempt: 1, createdMs: 5, members: ['a', 'b'], request: spotRequest, ...change },
        sha256Hex,
      ).id,
    ).not.toBe(intent.id),
  );
  test('is read back as it was written', () =>
    expect(parseIntent(renderIntent(intent), sha256Hex)).toEqual(intent));
  test('that somebody changed is none', () =>
    expect(
      parseIntent(renderIntent(intent).replace('m5.large', 'p5.48xlarge'), sha256Hex),
    ).toBeUndefined());
  test('makes a request whose token and tag are its id, at most 64 ASCII characters', () => {
    const sent = fleetRequestOf(intent);
    expect(sent).toMatchObject({
      clientToken: intent.id,
      count: 2,
      tags: { 'dovetail.sh/launch-intent': intent.id },
    });
    expect(sent.clientToken).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('an intent in an annotation', () => {
  const text = renderIntent(intent);
  test.each([
    ['an absent annotation', undefined],
    ['an empty one', ''],
    ['an id without content', intent.id],
    ['an id of other content', `${'0'.repeat(64)} ${text.slice(65)}`],
    ['content that was cut', text.slice(0, -1)],
  ])('%s is no intent', (_sentence, annotation) =>
    expect(parseIntent(annotation, sha256Hex)).toBeUndefined(),
  );
  test('names its id without being parsed', () =>
    expect(intentIdOf(claimCarrying('a'))).toBe(intent.id));
  test('survives every value that a request may have', () =>
    fc.assert(
      fc.property(arbitraryContent, (content) => {
        const made = intentOf(content, sha256Hex);
        expect(parseIntent(renderIntent(made), sha256Hex)).toEqual(made);
      }),
    ));
});

describe('whether an intent is in force', () => {
  const byName = (claims: readonly NodeClaim[]) => (name: string) =>
    claims.find((claim) => claim.name === name);
  const other = intentOf(
    { attempt: 2, createdMs: 6, members: ['a', 'b'], request: spotRequest },
    sha256Hex,
  );
  test.each([
    ['no member exists', [], [], false],
    ['one member is gone', [claimCarrying('a')], ['a'], false],
    ['one member does not carry it', [claimCarrying('a'), claimValue('b')], ['a'], false],
    ['one carries another', [claimCarrying('a'), claimCarrying('b', other)], ['a'], false],
    ['all members carry it', [claimCarrying('a'), claimCarrying('b')], ['a', 'b'], true],
    [
      'a member that is being deleted still counts',
      [claimCarrying('a'), { ...claimCarrying('b'), deletionMs: 1 }],
      ['a', 'b'],
      true,
    ],
  ])('%s', (_sentence, claims, carriers, inForce) => {
    const carried = carriedIntent(intent, byName(claims));
    expect(carried.carriers.map((claim) => claim.name)).toEqual(carriers);
    expect(carried.inForce).toBe(inForce);
  });
});
