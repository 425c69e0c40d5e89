import { kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import {
  type BootedInstance,
  createKubeStore,
  createManualClock,
  createNodeAgent,
  inProcessKube,
  type SimClock,
  startKubeControllers,
} from '../index.js';
import type { Node, Pod } from '../model/objects.js';

const turns = async (clock: SimClock, ms: number) => {
  for (let passed = 0; passed < ms; passed += 50) {
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    clock.advance(50);
  }
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
};
const instance = (nodeName: string, extra: Partial<BootedInstance> = {}): BootedInstance => ({
  nodeName,
  providerId: `aws:///a/${nodeName}`,
  labels: { 'topology.kubernetes.io/zone': 'a' },
  taints: [],
  arch: 'amd64',
  kubeletVersion: 'v1.34.3',
  capacity: { cpu: '4', memory: '16Gi', pods: '58' },
  allocatable: { cpu: '3920m', memory: '15Gi', pods: '58' },
  internalIp: '10.0.0.1',
  ...extra,
});
const setup = () => {
  const clock = createManualClock(Date.UTC(2026, 0, 1));
  const store = createKubeStore({ clock, seed: 1 });
  const kube = inProcessKube(store);
  const errors: unknown[] = [];
  startKubeControllers(store, { onError: (...error) => errors.push(error) });
  const agent = createNodeAgent({ kube, clock });
  void agent.run(new AbortController().signal);
  const apply = (plural: string, group: string, object: object) =>
    store.create(store.type(group, 'v1', plural), {
      namespace: 'default',
      object: object as never,
    });
  const pods = () => store.list(store.type('', 'v1', 'pods')).items as Pod[];
  const events = () =>
    store
      .list(store.type('', 'v1', 'events'))
      .items.map((event) => `${event['reason']}: ${event['message']}`);
  return { clock, store, kube, agent, apply, pods, events, errors };
};
const template = (spec: object = {}) => ({
  metadata: { labels: { app: 'a' } },
  spec: {
    containers: [{ name: 'main', image: 'pause:3.9', resources: { requests: { cpu: '1' } } }],
    ...spec,
  },
});
const workload = (replicas: number, spec: object = {}) => ({
  metadata: { name: 'web' },
  spec: { replicas, selector: { matchLabels: { app: 'a' } }, template: template(spec) },
});

describe('controllers, scheduler and kubelets together', () => {
  test('a deployment becomes running pods on a node that has room', async () => {
    const { clock, store, agent, apply, pods, errors } = setup();
    apply('deployments', 'apps', workload(3));
    await turns(clock, 200);
    expect(pods().map((pod) => pod.status?.conditions?.[0]?.message)).toEqual(
      Array(3).fill('no nodes available to schedule pods'),
    );
    agent.boot(instance('n1'));
    await turns(clock, 4000);
    expect(pods().map((pod) => [pod.spec.nodeName, pod.status?.phase])).toEqual(
      Array(3).fill(['n1', 'Running']),
    );
    const deployment = store.get(store.type('apps', 'v1', 'deployments'), {
      namespace: 'default',
      name: 'web',
    });
    expect(deployment['status']).toMatchObject({
      readyReplicas: 3,
      availableReplicas: 3,
      updatedReplicas: 3,
      observedGeneration: 1,
    });
    expect(errors).toEqual([]);
  });

  test('a pod too large for every node says which resource is short', async () => {
    const { clock, agent, apply, pods, events } = setup();
    agent.boot(instance('n1'));
    agent.boot(instance('n2', { taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' }] }));
    await turns(clock, 2000);
    apply(
      'deployments',
      'apps',
      workload(1, {
        containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '8' } } }],
      }),
    );
    await turns(clock, 500);
    const message =
      '0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {team: a}. no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.';
    expect(pods()[0]?.status?.conditions).toMatchObject([
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message },
    ]);
    expect(events()).toContain(`FailedScheduling: ${message}`);
  });

  test('scaling down ends pods, deleting the deployment ends all', async () => {
    const { clock, store, agent, apply, pods, kube } = setup();
    agent.boot(instance('n1'));
    apply('deployments', 'apps', workload(3));
    await turns(clock, 3000);
    store.patch(store.type('apps', 'v1', 'deployments'), {
      namespace: 'default',
      name: 'web',
      patch: { type: 'merge', body: { spec: { replicas: 1 } } },
    });
    await turns(clock, 2000);
    expect(pods()).toHaveLength(1);
    store.delete(store.type('apps', 'v1', 'deployments'), { namespace: 'default', name: 'web' });
    await turns(clock, 2000);
    expect(pods()).toEqual([]);
    expect(await kube.list(kubeResources.replicaSets)).toEqual([]);
  });

  test('a template change rolls the pods over and never lets availability fall below three quarters', async () => {
    const { clock, store, agent, apply, pods } = setup();
    agent.boot(instance('n1', { allocatable: { cpu: '32', memory: '64Gi', pods: '110' } }));
    apply('deployments', 'apps', workload(8));
    await turns(clock, 4000);
    expect(pods().filter((pod) => pod.status?.phase === 'Running')).toHaveLength(8);
    let least = Infinity;
    store.subscribe((change) => {
      if (change.table === 'pods')
        least = Math.min(
          least,
          pods().filter(
            (pod) =>
              pod.metadata.deletionTimestamp === undefined &&
              pod.status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True'),
          ).length,
        );
    });
    store.patch(store.type('apps', 'v1', 'deployments'), {
      namespace: 'default',
      name: 'web',
      patch: {
        type: 'strategic',
        body: {
          spec: { template: { spec: { containers: [{ name: 'main', image: 'pause:4' }] } } },
        },
      },
    });
    await turns(clock, 10_000);
    expect(pods().map((pod) => pod.spec.containers[0]?.image)).toEqual(Array(8).fill('pause:4'));
    expect(least).toBe(6);
  });

  test('a daemonset runs on cordoned nodes and not where a taint keeps it off', async () => {
    const { clock, store, agent, apply, pods } = setup();
    agent.boot(instance('n1'));
    agent.boot(instance('n2', { taints: [{ key: 'team', effect: 'NoSchedule' }] }));
    await turns(clock, 2000);
    store.patch(store.type('', 'v1', 'nodes'), {
      name: 'n1',
      patch: { type: 'merge', body: { spec: { unschedulable: true } } },
    });
    apply('daemonsets', 'apps', {
      metadata: { name: 'agent' },
      spec: { selector: { matchLabels: { app: 'a' } }, template: template() },
    });
    await turns(clock, 2000);
    expect(pods().map((pod) => [pod.spec.nodeName, pod.status?.phase])).toEqual([
      ['n1', 'Running'],
    ]);
    expect(
      (store.get(store.type('', 'v1', 'nodes'), { name: 'n1' }) as Node).spec?.taints,
    ).toMatchObject([{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }]);
  });

  test('a job whose command ends completes', async () => {
    const { clock, store, agent, apply } = setup();
    agent.boot(instance('n1'));
    apply('jobs', 'batch', {
      metadata: { name: 'once' },
      spec: {
        completions: 2,
        template: {
          spec: {
            restartPolicy: 'Never',
            containers: [{ name: 'main', image: 'busybox', command: ['sleep', '2'] }],
          },
        },
      },
    });
    await turns(clock, 9000);
    expect(
      store.get(store.type('batch', 'v1', 'jobs'), { namespace: 'default', name: 'once' })[
        'status'
      ],
    ).toMatchObject({
      succeeded: 2,
      conditions: [{ type: 'SuccessCriteriaMet' }, { type: 'Complete', status: 'True' }],
    });
  });

  test('a full quota refuses the rest, with an event that says so', async () => {
    const { clock, apply, pods, events } = setup();
    apply('resourcequotas', '', { metadata: { name: 'few' }, spec: { hard: { pods: '2' } } });
    apply('deployments', 'apps', workload(5));
    await turns(clock, 500);
    expect(pods()).toHaveLength(2);
    expect(events().filter((event) => event.startsWith('FailedCreate'))[0]).toMatch(
      /^FailedCreate: Error creating: pods "web-\w+-\w+" is forbidden: exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2$/,
    );
  });

  test('a budget lets one go, and refuses the next until another is ready', async () => {
    const { clock, agent, apply, pods, kube } = setup();
    agent.boot(instance('n1'));
    apply('poddisruptionbudgets', 'policy', {
      metadata: { name: 'web' },
      spec: { minAvailable: 2, selector: { matchLabels: { app: 'a' } } },
    });
    apply('deployments', 'apps', workload(3));
    await turns(clock, 4000);
    const [first, second] = pods().map((pod) => ({
      namespace: 'default',
      name: pod.metadata.name,
      uid: pod.metadata.uid,
    }));
    expect(await kube.evict(first as never)).toBe('evicted');
    await expect(kube.evict(second as never)).rejects.toMatchObject({ code: 'too-many-requests' });
    await turns(clock, 3000);
    expect(await kube.evict(second as never)).toBe('evicted');
  });

  test('zonal spread places one pod a zone and leaves the surplus pending', async () => {
    const { clock, agent, apply, pods } = setup();
    for (const zone of ['a', 'b', 'c'])
      agent.boot(
        instance(`n-${zone}`, {
          labels: { 'topology.kubernetes.io/zone': zone },
          allocatable: { cpu: zone === 'c' ? '1' : '4', memory: '8Gi', pods: '10' },
        }),
      );
    await turns(clock, 2000);
    apply(
      'deployments',
      'apps',
      workload(6, {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'topology.kubernetes.io/zone',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: { app: 'a' } },
          },
        ],
      }),
    );
    await turns(clock, 1000);
    const counts = new Map<string, number>();
    for (const pod of pods())
      counts.set(
        pod.spec.nodeName ?? 'pending',
        (counts.get(pod.spec.nodeName ?? 'pending') ?? 0) + 1,
      );
    expect(Object.fromEntries(counts)).toEqual({ 'n-a': 2, 'n-b': 2, 'n-c': 1, pending: 1 });
  });

  test('a NoExecute taint drives out what does not tolerate it', async () => {
    const { clock, store, agent, apply, pods } = setup();
    agent.boot(instance('n1'));
    apply('deployments', 'apps', workload(1));
    await turns(clock, 3000);
    const [before] = pods();
    store.patch(store.type('', 'v1', 'nodes'), {
      name: 'n1',
      patch: { type: 'merge', body: { spec: { taints: [{ key: 'out', effect: 'NoExecute' }] } } },
    });
    await turns(clock, 2000);
    expect(
      pods().map((pod) => [pod.metadata.uid === before?.metadata.uid, pod.spec.nodeName]),
    ).toEqual([[false, undefined]]);
  });

  test('a deleted namespace takes everything in it along', async () => {
    const { clock, store, agent, pods } = setup();
    agent.boot(instance('n1'));
    store.create(store.type('', 'v1', 'namespaces'), { object: { metadata: { name: 'team' } } });
    store.create(store.type('apps', 'v1', 'deployments'), {
      namespace: 'team',
      object: workload(2) as never,
    });
    await turns(clock, 3000);
    store.delete(store.type('', 'v1', 'namespaces'), { name: 'team' });
    await turns(clock, 5000);
    expect(pods()).toEqual([]);
    expect(store.find(store.type('', 'v1', 'namespaces'), { name: 'team' })).toBeUndefined();
  });

  test('1,000 pods over 60 nodes cost one creation, one binding and at most one status each', async () => {
    const { clock, store, agent, apply } = setup();
    for (let number = 0; number < 60; number += 1)
      agent.boot(
        instance(`n${number}`, { allocatable: { cpu: '32', memory: '64Gi', pods: '110' } }),
      );
    await turns(clock, 2000);
    const changes = { created: 0, bound: 0, status: 0 };
    const all = new Promise<void>((resolve) =>
      store.subscribe(({ table, object, before }) => {
        if (table !== 'pods') return;
        const isBound = (object as Pod).spec.nodeName !== undefined;
        const wasBound = (before as Pod | undefined)?.spec.nodeName !== undefined;
        if (before === undefined) changes.created += 1;
        else if (isBound && !wasBound) changes.bound += 1;
        else changes.status += 1;
        if (changes.bound === 1000) resolve();
      }),
    );
    apply('deployments', 'apps', workload(1000));
    await all;
    expect(changes).toMatchObject({ created: 1000, bound: 1000 });
    expect(changes.status).toBeLessThanOrEqual(1000);
  });
});
