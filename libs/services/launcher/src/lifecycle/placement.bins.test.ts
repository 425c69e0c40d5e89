import { annotations, parsePromise } from '@dovetail/core-api';
import { type KubeObject } from '@dovetail/core-ports';
import { podObject } from '@dovetail/sim-stage';
import { describe, expect, test } from 'vitest';

import {
  daemonSets,
  nodeClaims,
  nodeNameOf,
  nodes,
  opened,
  openStage,
  pending,
  planned,
  podNamed,
  pods,
  self,
} from '../testing/placing.js';

describe('a bin that no longer holds', () => {
  test('what still fits is bound, and what does not is promised nothing any more, so that it is planned again', async () => {
    const names = ['a', 'b', 'c'];
    await pending(...names.map((name) => podObject(name, { cpu: '2500m' })));
    const intruded = self.beforePatch('nodes', async () => {
      const [node] = await self.kube.list(nodes);
      const {
        metadata: { uid = '' },
      } = await self.kube.create(pods, podObject('intruder', { cpu: '2500m' }));
      await self.kube.bind(
        { namespace: 'default', name: 'intruder', uid },
        node?.metadata.name ?? '',
      );
      await self.until('the intruder to be seen', () =>
        [...self.planner.cluster.pods.values()].some(
          (pod) => pod.name === 'intruder' && pod.nodeName !== undefined,
        ),
      );
    });
    const { plan } = await self.planner.planFor(names);
    expect(plan.newNodes).toHaveLength(1);
    await intruded();
    const node = await opened();
    const placed = await Promise.all(names.map(podNamed));
    expect(placed.map(nodeNameOf).toSorted()).toEqual(['', node.metadata.name, node.metadata.name]);
    const [claim] = await self.kube.list(nodeClaims);
    const waiting = placed.find((pod) => nodeNameOf(pod) === '');
    expect(
      parsePromise(claim?.metadata.annotations?.[annotations.promise])?.podUids ?? [],
    ).not.toContain(waiting?.metadata.uid);
    self.planner.planAlways();
    await self.until(
      'the other to be bound to a node of its own',
      async () => nodeNameOf(await podNamed(waiting?.metadata.name ?? '')) !== '',
    );
  });
});

describe('a daemonset of which no pod has been seen', () => {
  const agent = (cpu: string): object => ({
    containers: [{ name: 'agent', image: 'pause:3.9', resources: { requests: { cpu } } }],
  });
  const withDaemonSet = async (names: readonly string[]): Promise<KubeObject> => {
    await openStage();
    await self.readyPool();
    const made = await self.kube.create(daemonSets, {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'agent', namespace: 'default' },
      spec: {
        selector: { matchLabels: { app: 'agent' } },
        template: { metadata: { labels: { app: 'agent' } }, spec: agent('100m') },
      },
    });
    await planned(names.map((name) => podObject(name, { cpu: '2500m' })));
    await self.until('the daemonset to be seen', () => self.planner.cluster.daemonSets.size === 1);
    return made;
  };
  const daemonPod = (set: KubeObject, nodeName: string): KubeObject =>
    podObject('agent-1', {
      cpu: '2500m',
      metadata: {
        ownerReferences: [
          {
            apiVersion: 'apps/v1',
            kind: 'DaemonSet',
            name: 'agent',
            uid: set.metadata.uid,
            controller: true,
          },
        ],
      },
      spec: {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [
                { matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }] },
              ],
            },
          },
        },
      },
    });

  test('has its room before planned pods: one that is larger than its template sends one of them back', async () => {
    const names = ['a', 'b', 'c'];
    const set = await withDaemonSet(names);
    const joined = self.beforePatch('nodes', async () => {
      const [node] = await self.kube.list(nodes);
      await self.kube.create(pods, daemonPod(set, node?.metadata.name ?? ''));
    });
    const { plan } = await self.planner.planFor(names);
    expect(plan.newNodes).toHaveLength(1);
    await joined();
    const node = await opened();
    const placed = await Promise.all(names.map(podNamed));
    expect(placed.map(nodeNameOf).toSorted()).toEqual(['', node.metadata.name, node.metadata.name]);
    const [claim] = await self.kube.list(nodeClaims);
    expect(claim?.metadata.annotations?.[annotations.promise] ?? '').not.toContain(
      placed.find((pod) => nodeNameOf(pod) === '')?.metadata.uid,
    );
  });

  test('is waited for shortly, and its pods that never come keep no planned pod from its node', async () => {
    await withDaemonSet(['a']);
    await self.planner.planFor(['a']);
    expect((await opened()).metadata.name).toBe(nodeNameOf(await podNamed('a')));
  });
});
