import { readFile, writeFile } from 'node:fs/promises';

import { kubeResources } from '@dovetail/core-ports';
import { events, runningPods } from '@dovetail/test-support/cluster';
import { podObject, poolReady } from '@dovetail/test-support/placement';
import { logged, type LogLine, metric, status } from '@dovetail/test-support/service-view';
import { poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import type { RunningPart } from '@dovetail/testbed';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Credentials that AWS or Kubernetes refuses. For NATS see bad-input-start.test.ts. */
const world = (await worlds()).includes('real') ? 'real' : 'twin';

describe(`credentials that are refused, on the ${world} world`, () => {
  let at: TestWorld;
  const part = (name: string): RunningPart => at.lab.parts.get(name) as RunningPart;
  const pool = (name: string): string =>
    poolManifest({ clusterName: 'lab', vcpusMax: 8 }).replaceAll('name: default', `name: ${name}`);
  const told = async (reason: string, kind: string, name: string): Promise<boolean> =>
    (await events(at)).some(
      (event) =>
        event.reason === reason &&
        event.involvedObject?.kind === kind &&
        event.involvedObject.name === name,
    );
  const rights = (allowed: readonly string[]): Promise<unknown> =>
    at.cloud('POST', 'rights', { accessKey: 'launcher', allowed });
  const runs = async (name: string, nodePool: string): Promise<void> => {
    await at.kube.create(
      kubeResources.pods,
      podObject(name, { cpu: '6' }, { nodeSelector: { 'karpenter.sh/nodepool': nodePool } }),
    );
    await eventually(`${name} to run`, async () =>
      (await runningPods(at, 'default')).some((pod) => pod.metadata.name === name),
    );
  };
  beforeAll(async () => {
    at = await openWorld({ world });
    await at.kube.putManifests(pool('default'));
    await poolReady(at);
  });
  afterAll(async () => at?.close());

  test('AWS that refuses what a class needs is said of its pool, and the pool is used once the right is there', async () => {
    const { pid } = part('launcher');
    await rights(['sts:*', 'eks:*', 'iam:*', 'ssm:*', 'pricing:*', 'sqs:*']);
    await at.kube.putManifests(pool('second'));
    const line = await eventually('the log line', async () =>
      (await logged(part('launcher'), 'pool-not-usable')).find(
        (each) => each['pool'] === 'NodePool/second' && each['reason'] === 'Unauthorized',
      ),
    );
    expect(line).toMatchObject({
      level: 'warn',
      msg: expect.stringContaining('AWS refused (UnauthorizedOperation)'),
    });
    expect(
      await metric(part('launcher'), 'dovetail_pools_not_usable_total', 'reason="Unauthorized"'),
    ).toBeGreaterThan(0);
    await eventually('the event', () => told('Unauthorized', 'NodePool', 'second'));
    expect([
      await status(part('launcher'), 'healthz'),
      await status(part('launcher'), 'readyz'),
    ]).toEqual([200, 200]);
    await rights(['*']);
    await poolReady(at);
    await runs('after-rights', 'second');
    expect(part('launcher').pid).toBe(pid);
  });

  test('AWS that refuses the launcher altogether is said as discovery-failed; the launcher waits, and works once it is let in', async () => {
    at.lab.supervisor?.hold('launcher');
    await part('launcher').stop();
    await rights([]);
    const refusal = {
      code: 'AuthFailure',
      message: 'AWS was not able to validate the provided access credentials',
      status: 401,
      times: 1,
    };
    for (const action of ['ec2:DescribeInstanceTypes', 'ec2:DescribeInstanceTypeOfferings'])
      await at.cloud('POST', 'fail', { action, ...refusal });
    const before = (await logged(part('launcher'), 'discovery-failed')).length;
    const ready = part('launcher').restart();
    const lines = async (): Promise<readonly LogLine[]> =>
      (await logged(part('launcher'), 'discovery-failed')).slice(before);
    await eventually(
      'each discovery to say it',
      async () => new Set((await lines()).map((line) => line['what'])).size === 3,
    );
    expect((await lines()).map((line) => [line['what'], line['code']])).toEqual(
      expect.arrayContaining([
        ['instance-types', 'denied'],
        ['prices', 'denied'],
        ['cluster', 'denied'],
      ]),
    );
    expect((await lines()).find((line) => line['what'] === 'instance-types')).toMatchObject({
      awsCode: 'AuthFailure',
      level: 'warn',
    });
    for (const what of ['instance-types', 'prices', 'cluster'])
      expect([
        what,
        await metric(part('launcher'), 'dovetail_discovery_failures_total', `what="${what}"`),
      ]).not.toEqual([what, 0]);
    await eventually('the event', () => told('DiscoveryFailed', 'Lease', 'dovetail-launcher'));
    expect([
      await status(part('launcher'), 'healthz'),
      await status(part('launcher'), 'readyz'),
    ]).toEqual([200, 503]);
    await rights(['*']);
    await ready;
    await poolReady(at);
    await runs('after-refusal', 'default');
    at.lab.supervisor?.release('launcher');
  });

  test('Kubernetes that refuses a token is said as kubernetes-denied; the services wait, and work with the right one', async () => {
    const names = ['pod-watcher', 'launcher', 'reaper'];
    const right = await readFile(at.lab.kubeconfig, 'utf8');
    for (const name of names) at.lab.supervisor?.hold(name);
    await Promise.all(names.map((name) => part(name).stop()));
    await writeFile(at.lab.kubeconfig, right.replace(/("?token"?: )"?\w+"?/, '$1"nobodys"'));
    const waiting = names.map((name) =>
      part(name)
        .restart()
        .catch(() => undefined),
    );
    for (const name of names) {
      const line = await eventually(
        `${name} to say it`,
        async () => (await logged(part(name), 'kubernetes-denied'))[0],
      );
      expect(line).toMatchObject({
        level: 'warn',
        msg: expect.stringContaining("check the kubeconfig's credentials"),
      });
      await eventually(
        `the metric of ${name}`,
        async () =>
          (await metric(
            part(name),
            'dovetail_kubernetes_failures_total',
            'reason="kubernetes-denied"',
          ).catch(() => 0)) > 1,
      );
      expect([
        name,
        await status(part(name), 'healthz'),
        await status(part(name), 'readyz'),
      ]).toEqual([name, 200, 503]);
      expect([name, part(name).running]).toEqual([name, true]);
    }
    // A kubeconfig is read at the start. A token file, as pods have it, is read again.
    await writeFile(at.lab.kubeconfig, right);
    await Promise.all(names.map((name) => part(name).stop()));
    await Promise.all(waiting);
    await Promise.all(names.map((name) => part(name).restart()));
    await runs('after-denial', 'default');
  });
});
