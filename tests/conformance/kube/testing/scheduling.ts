import { expect, test } from 'vitest';

import { deployment, extra, pod } from './objects.js';
import { type Context, eventually } from './suite.js';
import {
  messagesIn,
  nodes,
  pods,
  type PodShape,
  podsIn,
  running,
  runningIn,
  zones,
} from './workload-pods.js';

/** Where the scheduler puts pods, and what it says of those that fit nowhere. */
export function schedulingTests(context: Context): void {
  const { world, namespace } = context;
  test('a deployment becomes running pods, and its status says so', async () => {
    const own = await namespace();
    await world().kube.create(extra.deployments, deployment(own, 'web', 3));
    expect(running(await runningIn(context, own, 3))).toHaveLength(3);
    const ref = { resource: extra.deployments, namespace: own, name: 'web' };
    const done = await eventually(
      () => world().kube.get(ref),
      (one) => JSON.stringify(one?.['status'] ?? '').includes('NewReplicaSetAvailable'),
    );
    expect(done?.['status']).toMatchObject({
      replicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      updatedReplicas: 3,
      observedGeneration: 1,
    });
  });

  test('a pod that fits nowhere says why, in the scheduler’s words', async () => {
    const own = await namespace();
    await world().kube.create(
      pods,
      pod(own, 'big', {
        containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '64' } } }],
      }),
    );
    const message =
      '0/3 nodes are available: 3 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.';
    const unscheduled = (list: readonly PodShape[]): boolean =>
      list[0]?.status.conditions?.[0]?.reason === 'Unschedulable';
    expect(
      (await eventually(() => podsIn(context, own), unscheduled))[0]?.status.conditions,
    ).toMatchObject([{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }]);
    expect(
      await eventually(
        () => messagesIn(context, own, 'FailedScheduling'),
        (list) => list.length > 0,
      ),
    ).toContain(message);
  });

  test.each([
    [
      'a selector that no node has',
      { nodeSelector: { nothing: 'here' } },
      "3 node(s) didn't match Pod's node affinity/selector",
    ],
    [
      'a required affinity to pods that are not there',
      {
        affinity: {
          podAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              {
                topologyKey: 'kubernetes.io/hostname',
                labelSelector: { matchLabels: { app: 'none' } },
              },
            ],
          },
        },
      },
      "3 node(s) didn't match pod affinity rules",
    ],
    [
      'a spread over a key that no node has',
      {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'rack',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: { app: 'x' } },
          },
        ],
      },
      "3 node(s) didn't match pod topology spread constraints (missing required label)",
    ],
  ])('%s is named', async (_what, spec, words) => {
    const own = await namespace();
    await world().kube.create(pods, pod(own, 'p', spec));
    const [message = ''] = await eventually(
      () => messagesIn(context, own, 'FailedScheduling'),
      (list) => list.length > 0,
    );
    expect(message).toContain(`0/3 nodes are available: ${words}.`);
  });

  test('a taint that nothing tolerates is named with its key', async () => {
    const own = await namespace();
    const taint = (taints: unknown): Promise<unknown> =>
      Promise.all(
        Object.keys(zones).map((name) =>
          world().kube.patch(
            { resource: nodes, name },
            { type: 'merge', body: { spec: { taints } } },
          ),
        ),
      );
    await taint([{ key: 'team', value: 'one', effect: 'NoSchedule' }]);
    await world().kube.create(pods, pod(own, 'p'));
    const [message] = await eventually(
      () => messagesIn(context, own, 'FailedScheduling'),
      (list) => list.length > 0,
    );
    await taint(null);
    expect(message).toContain('3 node(s) had untolerated taint');
    expect(running(await runningIn(context, own, 1))).toHaveLength(1);
  });

  test('a hard zonal spread is level; pods that are gated, of other schedulers, or without their resource claim template are left alone', async () => {
    const own = await namespace();
    const spread = {
      maxSkew: 1,
      topologyKey: 'topology.kubernetes.io/zone',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'a' } },
    };
    await world().kube.create(
      pods,
      pod(own, 'gated', { schedulingGates: [{ name: 'example.com/wait' }] }),
    );
    await world().kube.create(pods, pod(own, 'other', { schedulerName: 'another' }));
    await world().kube.create(
      pods,
      pod(own, 'without-template', {
        resourceClaims: [{ name: 'device', resourceClaimTemplateName: 'none' }],
      }),
    );
    await world().kube.create(
      extra.deployments,
      deployment(own, 'even', 6, { topologySpreadConstraints: [spread] }),
    );
    const all = await eventually(
      () => podsIn(context, own),
      (list) => running(list).length === 6,
    );
    const perNode = Object.keys(zones).map(
      (name) => running(all).filter((one) => one.spec.nodeName === name).length,
    );
    expect(perNode).toEqual([2, 2, 2]);
    expect(
      all
        .filter((one) => one.spec.nodeName === undefined)
        .map((one) => [one.metadata.name, one.status.conditions?.[0]?.reason]),
    ).toEqual([
      ['gated', 'SchedulingGated'],
      ['other', undefined],
      ['without-template', undefined],
    ]);
  });

  test('anti-affinity by host keeps pods apart and the surplus pending', async () => {
    const own = await namespace();
    const antiAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'a' } } },
      ],
    };
    await world().kube.create(
      extra.deployments,
      deployment(own, 'apart', 4, { affinity: { podAntiAffinity: antiAffinity } }),
    );
    const all = await eventually(
      () => podsIn(context, own),
      (list) => running(list).length === 3,
    );
    expect(new Set(running(all).map((one) => one.spec.nodeName)).size).toBe(3);
    expect(
      await eventually(
        () => messagesIn(context, own, 'FailedScheduling'),
        (list) => list.length > 0,
      ),
    ).toEqual(
      expect.arrayContaining([
        expect.stringContaining("3 node(s) didn't match pod anti-affinity rules"),
      ]),
    );
  });
}
