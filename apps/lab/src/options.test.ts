import { TestbedError } from '@dovetail/testbed';
import { expect, test } from 'vitest';

import { labOptions } from './options.js';

const options = (env: Readonly<Record<string, string>>) => labOptions('.lab', () => undefined, env);

test.each<[Readonly<Record<string, string>>, RegExp]>([
  [
    { ZONES: 'us-west-2a,mars' },
    /^ZONES names mars\nRemedy: give zones of us-west-2.*us-west-2a, us/,
  ],
  [{ ZONES: 'a,' }, /^ZONES names an empty zone\n/],
  [
    { REGION: 'eu-west-1', ZONES: 'us-west-2a' },
    /^ZONES names us-west-2a\nRemedy: give zones of eu-/,
  ],
  [{ PLACEMENT: 'schedular' }, /^PLACEMENT is schedular\nRemedy: give bind or scheduler, or leave/],
  [{ REAL: 'yes' }, /^REAL is yes\nRemedy: give 0 or 1, or leave it out for 0/],
  [{ AUTOSCALER: 'karpentre' }, /^AUTOSCALER is karpentre\nRemedy: give dovetail or karpenter/],
  [{ AUTOSCALER: 'karpenter' }, /^AUTOSCALER=karpenter was only tried on the real control plane\n/],
  [{ SOLVERS: '0' }, /^SOLVERS is 0\n/],
  [{ REGION: 'mars-1' }, /^REGION is mars-1\n/],
  [{ CLUSTER_NAME: 'a b' }, /^CLUSTER_NAME is a b\n/],
])('the settings %j are refused in words, before anything starts', (env, text) => {
  expect(() => options(env)).toThrow(TestbedError);
  expect(() => options(env)).toThrow(text);
});

test('zones may be named by their letters, and empty variables are as absent ones', () => {
  expect(options({ ZONES: 'a,us-west-2b', PLACEMENT: 'scheduler' })).toMatchObject({
    zones: ['a', 'us-west-2b'],
    placement: 'scheduler',
  });
  const empty = options({ ZONES: '', PLACEMENT: '', REAL: '', AUTOSCALER: '', REGION: '' });
  expect(empty).toMatchObject({ placement: 'bind', world: 'twin', region: 'us-west-2' });
  expect(empty).not.toHaveProperty('zones');
});
