import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { kubeResources } from '@dovetail/core-ports';
import { events, runningPods } from '@dovetail/test-support/cluster';
import { podObject, poolReady } from '@dovetail/test-support/placement';
import { logged, metric, serviceOf } from '@dovetail/test-support/service-view';
import { poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** The services work under the policies of deploy/iam, which the cloud twin evaluates. */
const policyOf = (service: string): string =>
  join(import.meta.dirname, '..', '..', 'deploy', 'iam', `${service}.json`);
const spotRequests = '"arn:${AWS_PARTITION}:ec2:${AWS_REGION}:*:spot-instances-request/*"';

describe('launches of Spot', () => {
  let at: TestWorld;
  const setPolicy = async (policy: string): Promise<unknown> => {
    // Services of one process share an access key, with the rights of all.
    const [accessKey, others] = at.lab.parts.has('launcher')
      ? ['launcher', []]
      : ['services', [await readFile(policyOf('reaper'), 'utf8')]];
    const policies = [policy, ...others];
    return at.cloud('POST', 'identities', { accessKey, role: `lab-${accessKey}`, policies });
  };
  const wants = (name: string): Promise<unknown> =>
    at.kube.create(kubeResources.pods, podObject(name, { cpu: '6' }));
  const runs = (name: string): Promise<unknown> =>
    eventually(`${name} to run`, async () =>
      (await runningPods(at, 'default')).some((pod) => pod.metadata.name === name),
    );
  beforeAll(async () => {
    at = await openWorld({ world: 'twin' });
    const pool = poolManifest({ clusterName: 'lab', vcpusMax: 8 });
    await at.kube.putManifests(pool.replace('[on-demand]', '[spot]'));
    await poolReady(at);
  });
  afterAll(async () => at?.close());

  test('are allowed by the shipped policies', async () => {
    await wants('allowed');
    await runs('allowed');
  });

  test('that the policy denies are reported with their code, and succeed once it allows them', async () => {
    const shipped = await readFile(policyOf('launcher'), 'utf8');
    const narrowed = shipped.replaceAll(`${spotRequests},`, '');
    expect(narrowed).not.toContain('spot-instances-request');
    await setPolicy(narrowed);
    await wants('denied');
    const launcher = await serviceOf(at.lab, 'launcher');
    const event = await eventually('the event of the claim', async () =>
      (await events(at)).find(
        ({ reason, involvedObject }) =>
          reason === 'Unauthorized' && involvedObject?.kind === 'NodeClaim',
      ),
    );
    expect(event.message).toContain('UnauthorizedOperation');
    const line = await eventually('the log line', async () =>
      (await logged(launcher, 'fleet-error')).at(0),
    );
    expect(JSON.stringify(line)).toContain('spot-instances-request/*');
    expect(
      await metric(
        launcher,
        'dovetail_create_fleet_failures_total',
        'aws_code="UnauthorizedOperation"',
      ),
    ).toBeGreaterThan(0);
    expect((await runningPods(at, 'default')).map((pod) => pod.metadata.name)).toEqual(['allowed']);
    await setPolicy(shipped);
    await runs('denied');
  });
});
