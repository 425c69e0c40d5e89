import { claimValue } from '@dovetail/core-api/testing';
import { describe, expect, test } from 'vitest';

import { instanceIdOf, instanceIdOfProvider } from './instance-id.js';

describe('a provider ID', () => {
  test('ends with the instance', () =>
    expect(instanceIdOfProvider('aws:///us-west-2a/i-0123456789abcdef0')).toBe(
      'i-0123456789abcdef0',
    ));

  test.each<[string, string | undefined]>([
    ['absent', undefined],
    ['empty', ''],
    ["another provider's", 'gce:///zone/i-1'],
    ['without a zone', 'aws:///i-1'],
    ['with an ID that is no instance', 'aws:///us-west-2a/vol-1'],
    ['with upper-case digits', 'aws:///us-west-2a/i-ABC'],
  ])('that is %s names no instance', (_how, id) =>
    expect(instanceIdOfProvider(id)).toBeUndefined(),
  );
});

describe('the instance of a claim', () => {
  test.each<[string, Parameters<typeof claimValue>[1], string | undefined]>([
    ['is the paired one', { annotations: { 'dovetail.sh/instance-id': 'i-1' } }, 'i-1'],
    [
      'is the paired one, not the one in status',
      { annotations: { 'dovetail.sh/instance-id': 'i-1' }, providerId: 'aws:///z/i-2' },
      'i-1',
    ],
    ['is the one in status', { providerId: 'aws:///z/i-2' }, 'i-2'],
    ['is unknown before the launch', {}, undefined],
    [
      'is unknown when the pairing is empty',
      { annotations: { 'dovetail.sh/instance-id': '' } },
      undefined,
    ],
  ])('%s', (_what, over, id) => expect(instanceIdOf(claimValue('c', over))).toBe(id));
});
