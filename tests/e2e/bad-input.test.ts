import { subjects } from '@dovetail/contracts';
import { type KubeResource, kubeResources } from '@dovetail/core-ports';
import { events, runningPods, untilRunning } from '@dovetail/test-support/cluster';
import { deletePods, podObject, poolReady } from '@dovetail/test-support/placement';
import { logged, metric, status } from '@dovetail/test-support/service-view';
import { poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { busOperator, type RunningPart } from '@dovetail/testbed';
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * Every fault is named in the log, counted, and shown where users look. The service waits, and
 * works when the cause is gone.
 */
const world = (await worlds()).includes('real') ? 'real' : 'twin';
const services = ['pod-watcher', 'solver-0', 'launcher', 'reaper'] as const;

describe(`bad input on the ${world} world`, () => {
  let at: TestWorld;
  const part = (name: string): RunningPart | undefined => at.lab.parts.get(name);
  const manifest = (): string => poolManifest({ clusterName: 'lab', vcpusMax: 8 });
  const [poolOnly = '', classOnly = ''] = manifest().split('\n---\n');
  const told = async (reason: string, kind: string, name: string): Promise<boolean> =>
    (await events(at)).some(
      (event) =>
        event.reason === reason &&
        event.involvedObject?.kind === kind &&
        event.involvedObject.name === name,
    );
  const conditions = async (resource: KubeResource): Promise<string> =>
    JSON.stringify((await at.list(resource))[0]?.['status'] ?? '');
  /** A pod that needs a new node of its own. */
  const launches = async (name: string): Promise<void> => {
    await at.kube.create(kubeResources.pods, podObject(name, { cpu: '6' }));
    await eventually(`${name} to run`, async () =>
      (await runningPods(at, 'default')).some((pod) => pod.metadata.name === name),
    );
  };
  beforeAll(async () => {
    at = await openWorld({ world });
  });
  afterAll(async () => at?.close());

  test('a pool whose class does not exist says so, and is used once it does', async () => {
    await at.kube.putManifests(poolOnly);
    await eventually('the log line', async () =>
      (await logged(part('launcher'), 'pool-not-usable')).some(
        (line) => line['reason'] === 'NodeClassNotFound',
      ),
    );
    expect(
      await metric(
        part('launcher'),
        'dovetail_pools_not_usable_total',
        'reason="NodeClassNotFound"',
      ),
    ).toBe(1);
    await eventually('the event', () => told('NodeClassNotFound', 'NodePool', 'default'));
    expect(await status(part('launcher'), 'readyz')).toBe(200);
    await at.kube.putManifests(classOnly);
    await poolReady(at);
    expect((await logged(part('launcher'), 'pool-usable')).length).toBe(1);
  });

  test('a pod that fits nowhere is told with its reasons, and runs once it fits', async () => {
    await at.kube.create(kubeResources.pods, podObject('giant', { cpu: '500' }));
    await eventually('the decision', () =>
      at.decisions
        .of('unschedulable')
        .some(
          ({ objects, reasons }) =>
            reasons.length > 0 && objects.some(({ name }) => name === 'giant'),
        ),
    );
    await eventually('the event', async () =>
      (await events(at)).some(
        ({ reason, involvedObject, message }) =>
          reason === 'FailedScheduling' &&
          involvedObject?.name === 'giant' &&
          message?.startsWith('Failed to schedule pod') === true,
      ),
    );
    expect((await logged(part('launcher'), 'decision-unschedulable')).length).toBeGreaterThan(0);
    expect(await metric(part('pod-watcher'), 'dovetail_pods_unschedulable_total')).toBeGreaterThan(
      0,
    );
    await deletePods(at);
    await launches('small');
  });

  test.each([
    ['subnets', 'subnetSelectorTerms', 'SubnetsNotFound'],
    ['security groups', 'securityGroupSelectorTerms', 'SecurityGroupsNotFound'],
  ])(
    'a selector that finds no %s makes its class and pool not ready, and pods run once it finds some',
    async (_what, field, reason) => {
      const usable = (await logged(part('launcher'), 'pool-usable')).length;
      await at.kube.putManifests(
        classOnly.replace(
          `${field}: [{ tags: { karpenter.sh/discovery: lab } }]`,
          `${field}: [{ tags: { nobody: has-this } }]`,
        ),
      );
      const line = await eventually('the log line', async () =>
        (await logged(part('launcher'), 'pool-not-usable')).find(
          (each) => each['reason'] === reason,
        ),
      );
      expect(line).toMatchObject({
        level: 'warn',
        pool: 'NodePool/default',
        msg: expect.stringContaining('{"nobody":"has-this"}'),
      });
      expect(
        await metric(part('launcher'), 'dovetail_pools_not_usable_total', `reason="${reason}"`),
      ).toBe(1);
      await eventually('the event', () => told(reason, 'NodePool', 'default'));
      await eventually('the condition of the class', async () =>
        (await conditions(kubeResources.ec2NodeClasses)).includes(reason),
      );
      await eventually('the condition of the pool', async () =>
        (await conditions(kubeResources.nodePools)).includes(reason),
      );
      expect(await status(part('launcher'), 'readyz')).toBe(200);
      await at.kube.putManifests(classOnly);
      await poolReady(at);
      expect((await logged(part('launcher'), 'pool-usable')).length).toBe(usable + 1);
      await launches(`pod-${reason.toLowerCase()}`);
    },
  );

  test('a malformed message on any subject is named, counted and dropped', async () => {
    const connection = await connect({ servers: at.lab.natsUrl, ...busOperator });
    const garbage = new Uint8Array([255, 255, 255, 1, 2, 3]);
    const [state, pending, plan, catalog] = [
      subjects.state('lab', 'pod', 'x'),
      subjects.pending('lab', 'x'),
      subjects.plan('lab', 'x'),
      subjects.classCatalog('lab', 'x', 0),
    ] as const;
    for (const subject of [state, pending, plan, catalog, subjects.decision('lab', 'launch')])
      connection.publish(subject, garbage);
    await at.cloud('POST', 'messages', { body: 'no event' });
    const answer = await connection.request(subjects.planner('lab', 'plan'), garbage, {
      timeout: 60_000,
    });
    expect(new TextDecoder().decode(answer.data)).toContain('malformed-request');
    await connection.close();
    const expected = [
      ['pod-watcher', 'message-malformed', state],
      ['pod-watcher', 'message-malformed', catalog],
      ['solver-0', 'batch-malformed', pending],
      ['solver-0', 'message-malformed', state],
      ['solver-0', 'message-malformed', catalog],
      ['launcher', 'plan-malformed', plan],
      ['launcher', 'message-malformed', catalog],
    ] as const;
    for (const [name, event, subject] of expected)
      await eventually(`${name} to say ${event} of ${subject}`, async () =>
        (await logged(part(name), event)).some((line) => line['subject'] === subject),
      );
    for (const name of ['pod-watcher', 'solver-0', 'launcher'])
      expect([name, await metric(part(name), 'dovetail_malformed_messages_total')]).toEqual([
        name,
        expected.filter(([of]) => of === name).length,
      ]);
    await eventually(
      'the reaper to say it',
      async () => (await logged(part('reaper'), 'interruption-malformed')).length > 0,
    );
    expect(
      await metric(
        part('reaper'),
        'karpenter_interruption_received_messages_total',
        'message_type="malformed"',
      ),
    ).toBe(1);
    await eventually('the decision that ends the batch', () =>
      at.decisions.of('unschedulable').some(({ facts }) => facts['subject'] === pending),
    );
    for (const name of ['launcher', 'reaper'])
      await eventually(`the event of ${name}`, () =>
        told('MessageMalformed', 'Lease', `dovetail-${name}`),
      );
    for (const name of services)
      expect([name, await status(part(name), 'readyz')]).toEqual([name, 200]);
    await launches('after-garbage');
  });

  test('NATS that goes away mid-way is missed by name, and work goes on when it is back', async () => {
    const running = (await runningPods(at, 'default')).length;
    at.lab.supervisor?.hold('nats-server');
    await part('nats-server')?.kill('SIGKILL');
    for (const name of services) {
      await eventually(
        `${name} to say it`,
        async () => (await logged(part(name), 'nats-disconnected')).length > 0,
      );
      expect([name, await status(part(name), 'healthz')]).toEqual([name, 200]);
      expect([
        name,
        await metric(part(name), 'dovetail_nats_failures_total', 'nats-disconnected'),
      ]).toEqual([name, 1]);
    }
    for (const name of ['launcher', 'reaper'])
      await eventually(`the event of ${name}`, () =>
        told('NATSDisconnected', 'Lease', `dovetail-${name}`),
      );
    await eventually(
      'the solver not to be ready',
      async () => (await status(part('solver-0'), 'readyz')) === 503,
    );
    await at.kube.create(kubeResources.pods, podObject('while-away', { cpu: '4' }));
    at.lab.supervisor?.release('nats-server');
    await untilRunning(at, 'default', running + 1, 120_000);
  });
});
