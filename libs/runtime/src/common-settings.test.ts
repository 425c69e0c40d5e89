import { afterEach, describe, expect, test } from 'vitest';

import { type AwsPlace, awsPlaceOf, awsSettings, commonSettings } from './common-settings.js';
import { readSettings } from './settings.js';

const arn = 'arn:aws:iam::111122223333:role/dovetail';

function placeOf(env: Readonly<Record<string, string>>): AwsPlace {
  const read = readSettings({ name: 'reaper', purpose: 'ends nodes' }, awsSettings, {
    env: { AWS_REGION: 'us-west-2', ...env },
    args: [],
  });
  if (read.kind === 'help') throw new Error('no help was asked for');
  return awsPlaceOf(read.settings);
}

describe('the connection to AWS', () => {
  test.each<[string, Record<string, string>, AwsPlace]>([
    ['is of the region alone', {}, { region: 'us-west-2' }],
    [
      'goes to another endpoint',
      { AWS_ENDPOINT_URL: 'http://127.0.0.1:1' },
      { region: 'us-west-2', endpoint: 'http://127.0.0.1:1' },
    ],
    [
      'is made as a role, for a quarter of an hour',
      { ASSUME_ROLE_ARN: arn },
      { region: 'us-west-2', role: { arn, durationSeconds: 900 } },
    ],
    [
      'is made as a role for as long as is said',
      { ASSUME_ROLE_ARN: arn, ASSUME_ROLE_DURATION: '1h' },
      { region: 'us-west-2', role: { arn, durationSeconds: 3_600 } },
    ],
    ['ignores a duration without a role', { ASSUME_ROLE_DURATION: '1h' }, { region: 'us-west-2' }],
  ])('%s by %j', (_how, env, place) => expect(placeOf(env)).toEqual(place));

  test.each([
    ['ASSUME_ROLE_ARN', 'dovetail'],
    ['ASSUME_ROLE_ARN', 'arn:aws:iam::111122223333:user/dovetail'],
    ['ASSUME_ROLE_DURATION', '14m'],
    ['ASSUME_ROLE_DURATION', '13h'],
  ])('%s=%s is refused', (name, value) =>
    expect(() => placeOf({ [name]: value })).toThrow(new RegExp(`${name}\\) is "${value}": give `)),
  );
});

describe('a test clock', () => {
  const env = { CLUSTER_NAME: 'lab', NATS_URL: 'nats://n', TEST_CLOCK_FILE: '/tmp/clock' };
  const read = () =>
    readSettings({ name: 'reaper', purpose: 'x' }, commonSettings, { env, args: [] });
  afterEach(() => {
    delete process.env['KUBERNETES_SERVICE_HOST'];
  });

  test('is followed outside of a cluster', () =>
    expect(read()).toMatchObject({ kind: 'run', settings: { testClockFile: '/tmp/clock' } }));

  test('is refused in a cluster, where it would end every node as expired', () => {
    process.env['KUBERNETES_SERVICE_HOST'] = '10.0.0.1';
    expect(read).toThrow(
      /TEST_CLOCK_FILE\) is "\/tmp\/clock": leave it out: this process runs in a/,
    );
  });
});
