import { kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { deployment, extra, pod, template } from './objects.js';
import { type Context, eventually } from './suite.js';
import {
  daemonSets,
  messagesIn,
  nodes,
  podDisruptionBudgets,
  pods,
  podsIn,
  running,
  runningIn,
} from './workload-pods.js';

/** DaemonSets, Jobs, quotas, disruption budgets, NoExecute taints and cascading deletes. */
export function controllerTests(context: Context): void {
  const { world, namespace } = context;
  test('a daemonset runs on every node, the cordoned one too', async () => {
    const own = await namespace();
    const cordon = (unschedulable: boolean | null): Promise<unknown> =>
      world().kube.patch(
        { resource: nodes, name: 'w1' },
        { type: 'merge', body: { spec: { unschedulable } } },
      );
    await cordon(true);
    await world().kube.create(daemonSets, {
      metadata: { name: 'agent', namespace: own },
      spec: { selector: { matchLabels: { app: 'a' } }, template: template() },
    });
    const all = await runningIn(context, own, 3);
    await cordon(null);
    expect(all.map((one) => one.spec.nodeName).sort()).toEqual(['w1', 'w2', 'w3']);
    const ref = { resource: daemonSets, namespace: own, name: 'agent' };
    expect(
      await eventually(
        () => world().kube.get(ref),
        (one) => (one?.['status'] as { numberAvailable?: number }).numberAvailable === 3,
      ),
    ).toMatchObject({
      status: {
        desiredNumberScheduled: 3,
        currentNumberScheduled: 3,
        numberReady: 3,
        numberAvailable: 3,
        updatedNumberScheduled: 3,
        numberMisscheduled: 0,
      },
    });
  });

  test('a job whose containers end completes', async () => {
    const own = await namespace();
    const spec = {
      restartPolicy: 'Never',
      containers: [{ name: 'main', image: 'busybox', command: ['sleep', '0.2'] }],
    };
    await world().kube.create(extra.jobs, {
      metadata: { name: 'once', namespace: own },
      spec: { completions: 2, parallelism: 1, template: { spec } },
    });
    const ref = { resource: extra.jobs, namespace: own, name: 'once' };
    const done = await eventually(
      () => world().kube.get(ref),
      (one) => JSON.stringify(one?.['status'] ?? '').includes('"Complete"'),
      30_000,
    );
    expect(done?.['status']).toMatchObject({
      succeeded: 2,
      conditions: expect.arrayContaining([
        expect.objectContaining({ type: 'Complete', status: 'True' }),
      ]) as unknown,
    });
  });

  test('a full quota refuses the rest; the event names the quota', async () => {
    const own = await namespace();
    const { kube } = world();
    await kube.create(extra.quotas, {
      metadata: { name: 'few', namespace: own },
      spec: { hard: { pods: '2' } },
    });
    const ref = { resource: extra.quotas, namespace: own, name: 'few' };
    await eventually(
      () => kube.get(ref),
      (one) => JSON.stringify(one?.['status'] ?? '').includes('used'),
    );
    await kube.create(extra.deployments, deployment(own, 'many', 5));
    const failures = await eventually(
      () => messagesIn(context, own, 'FailedCreate'),
      (list) => list.length > 0,
    );
    expect(failures[0]).toMatch(
      /^Error creating: pods "many-\w+-\w+" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2$/,
    );
    expect(await runningIn(context, own, 2)).toHaveLength(2);
    await expect(kube.create(pods, pod(own, 'one-more'))).rejects.toMatchObject({ code: 'denied' });
  });

  test('a budget lets go one at a time', async () => {
    const own = await namespace();
    const { kube } = world();
    await kube.create(podDisruptionBudgets, {
      metadata: { name: 'web', namespace: own },
      spec: { minAvailable: 2, selector: { matchLabels: { app: 'a' } } },
    });
    await kube.create(
      extra.deployments,
      deployment(own, 'web', 3, { nodeSelector: { 'kubernetes.io/hostname': 'w3' } }),
    );
    const cordon = (unschedulable: boolean | null): Promise<unknown> =>
      kube.patch(
        { resource: nodes, name: 'w3' },
        { type: 'merge', body: { spec: { unschedulable } } },
      );
    const [first, second] = running(await runningIn(context, own, 3)).map((one) => ({
      namespace: own,
      name: one.metadata.name,
      uid: one.metadata.uid as string,
    }));
    const ref = { resource: podDisruptionBudgets, namespace: own, name: 'web' };
    const budget = await eventually(
      () => kube.get(ref),
      (one) =>
        (one?.['status'] as { disruptionsAllowed?: number } | undefined)?.disruptionsAllowed === 1,
    );
    expect(budget?.['status']).toMatchObject({
      disruptionsAllowed: 1,
      currentHealthy: 3,
      desiredHealthy: 2,
      expectedPods: 3,
    });
    if (first === undefined || second === undefined) throw new Error('three pods were to run');
    await cordon(true); // No pod takes the first one's place before the node is uncordoned.
    expect(await kube.evict(first)).toBe('evicted');
    await expect(kube.evict(second)).rejects.toMatchObject({ code: 'too-many-requests' });
    expect(
      await eventually(
        () => kube.evict(first).catch(() => 'evicted'),
        (answer) => answer === 'gone',
      ),
    ).toBe('gone');
    await cordon(null);
    await eventually(
      () => kube.get(ref),
      (one) => (one?.['status'] as { disruptionsAllowed?: number }).disruptionsAllowed === 1,
    );
    expect(await kube.evict(second)).toBe('evicted');
  });

  test('a NoExecute taint drives out what does not tolerate it', async () => {
    const own = await namespace();
    const { kube } = world();
    await kube.create(pods, pod(own, 'out', { nodeSelector: { 'kubernetes.io/hostname': 'w2' } }));
    await runningIn(context, own, 1);
    await kube.patch(
      { resource: nodes, name: 'w2' },
      { type: 'merge', body: { spec: { taints: [{ key: 'leave', effect: 'NoExecute' }] } } },
    );
    const left = await eventually(
      () => podsIn(context, own),
      (list) => list.length === 0,
    );
    await kube.patch(
      { resource: nodes, name: 'w2' },
      { type: 'merge', body: { spec: { taints: null } } },
    );
    expect(left).toEqual([]);
  });

  test('deleting a deployment deletes what it made; orphaning leaves it', async () => {
    const own = await namespace();
    const { kube } = world();
    await kube.create(extra.deployments, deployment(own, 'a', 2));
    await runningIn(context, own, 2);
    await kube.delete(
      { resource: extra.deployments, namespace: own, name: 'a' },
      { propagation: 'Orphan' },
    );
    const sets = await eventually(
      () => kube.list(kubeResources.replicaSets, { namespace: own }),
      (list) => (list[0]?.metadata.ownerReferences ?? []).length === 0,
    );
    expect(sets).toHaveLength(1);
    await kube.delete({
      resource: kubeResources.replicaSets,
      namespace: own,
      name: sets[0]?.metadata.name ?? '',
    });
    expect(
      await eventually(
        () => podsIn(context, own),
        (list) => list.length === 0,
      ),
    ).toEqual([]);
  });
}
