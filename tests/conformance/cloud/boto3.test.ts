import { join } from 'node:path';

import { systemClock } from '@dovetail/runtime';
import { accountFor, createCloud, serveCloud, servedActions } from '@dovetail/sim-cloud';
import { forTests, isUnavailable, obtainMoto, run } from '@dovetail/testbed';
import { describe, expect, test } from 'vitest';

/** The script's findings: the problems of each call's answers, and the codes of refusals. */
type Report = {
  readonly problems: Readonly<Record<string, readonly string[]>>;
  readonly refusals: Readonly<Record<string, string>>;
};

const region = 'us-east-1';
const reader = {
  accessKey: 'AKIDREADER',
  role: 'reader',
  policies: [
    JSON.stringify({
      Version: '2012-10-17',
      Statement: [{ Effect: 'Allow', Action: 'ec2:Describe*', Resource: '*' }],
    }),
  ],
};

/** Runs the script against a twin of its own. */
async function driven(python: string): Promise<Report> {
  const twin = createCloud({
    clock: systemClock,
    seed: 'boto3',
    account: accountFor(region, { clusterName: 'lab', zones: ['a', 'b'] }),
    settings: { limits: 'none', consistencyMs: 0, runningDelayMs: 0, shutdownDelayMs: 0 },
  });
  const served = await serveCloud(twin);
  try {
    await fetch(`${served.endpoint}/_twin/identities`, {
      method: 'POST',
      body: JSON.stringify(reader),
    });
    const given = {
      endpoint: served.endpoint,
      region,
      account: twin.account.accountId,
      cluster: 'lab',
      queue: 'lab',
      role: 'KarpenterNodeRole-lab',
      subnets: twin.account.subnets.map(({ id }) => id),
      imageParameter:
        '/aws/service/eks/optimized-ami/1.32/amazon-linux-2023/x86_64/standard/recommended/image_id',
    };
    const script = join(import.meta.dirname, 'boto3', 'drive.py');
    const { stdout } = await run(python, ['-B', script, JSON.stringify(given)], {
      deadlineMs: 60_000,
      remedy: 'run the script by hand; its last call is the one that failed',
    });
    return JSON.parse(stdout) as Report;
  } finally {
    await served.close();
    twin.close();
  }
}

/** The codes that AWS gives each refusal. */
const refusals: readonly (readonly [string, string])[] = [
  ['no such zone', 'InvalidParameterValue'],
  ['no such subnet', 'InvalidSubnetID.NotFound'],
  ['template exists', 'InvalidLaunchTemplateName.AlreadyExistsException'],
  ['dry run', 'DryRunOperation'],
  ['Spot is not stopped', 'UnsupportedOperation'],
  ['no such instance', 'InvalidInstanceID.NotFound'],
  ['not served', 'InvalidAction'],
  ['profile with a role', 'DeleteConflict'],
  ['no such profile', 'NoSuchEntity'],
  ['no such queue', 'AWS.SimpleQueueService.NonExistentQueue'],
  ['no such parameter', 'ParameterNotFound'],
  ['no such cluster', 'ResourceNotFoundException'],
  ['end, denied', 'UnauthorizedOperation'],
  ['stop, denied', 'UnauthorizedOperation'],
  ['untag, denied', 'UnauthorizedOperation'],
];

// boto3 comes with moto, in a Python environment of its own.
const moto = await forTests(obtainMoto);
if (isUnavailable(moto)) {
  process.stdout.write(`LEFT OUT: the cloud twin seen by boto3: ${moto.unavailable}\n`);
  test.skip(`boto3: ${moto.unavailable}`, () => undefined);
} else {
  const report = await driven(moto.path);
  describe('boto3, an independent client of the cloud twin,', () => {
    test.each(servedActions)('finds the answers of %s as its own model has them', (action) => {
      expect(report.problems[action]).toEqual([]);
    });

    test.each(refusals)('is refused with the code of AWS: %s', (name, code) => {
      expect(report.refusals[name]).toBe(code);
    });
  });
}
