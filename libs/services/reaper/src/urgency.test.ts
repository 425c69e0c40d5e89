import { type KubeApi, kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import {
  cluster,
  deadlineOf,
  isDeleting,
  reap,
  started,
  stateOf,
  tainted,
} from './testing/current-cluster.js';

/** An API server whose ordinary calls all wait, as behind a lane that is full; watches go on. */
const full = (kube: KubeApi): KubeApi =>
  new Proxy(kube, {
    get: (target, name) => {
      const method = target[name as keyof KubeApi] as (...given: unknown[]) => unknown;
      if (name === 'watch' || name === 'serves')
        return (...given: unknown[]) => method.apply(target, given);
      return () => new Promise(() => undefined);
    },
  });

test('a Spot notice is obeyed while calls without a deadline wait', async () => {
  await started();
  const { instanceId } = await cluster.node('n1', { capacityType: 'spot' });
  await cluster.scale('web', 2);
  await cluster.pass(2);
  reap({ kube: full(cluster.kube), urgentKube: cluster.kube });
  await cluster.pass(3);
  cluster.twin.notify({ kind: 'spot-interruption', instanceId });
  await cluster.pass(3);
  expect(tainted('n1')).toBe(true);
  expect(await cluster.pass(60, () => isDeleting('claim-n1'))).toBe(true);
  expect(deadlineOf('claim-n1')).toBeLessThanOrEqual(cluster.clock.nowMs() + 120_000);
  const podsLeft = () => cluster.list(kubeResources.pods).filter(isLeft).length;
  expect(await cluster.pass(60, () => podsLeft() === 0)).toBe(true);
  const { queue } = cluster.twin;
  expect(queue.depth().visible + queue.depth().hidden).toBe(0);
});

test('the instance of an interrupted node ends while calls without a deadline wait, whatever volumes are there', async () => {
  await started();
  const { instanceId } = await cluster.node('n1', { capacityType: 'spot' });
  await cluster.pod('agent', 'agent', {
    spec: {
      nodeName: 'n1',
      tolerations: [{ operator: 'Exists' }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    },
  });
  await cluster.kube.create(kubeResources.persistentVolumeClaims, {
    metadata: { name: 'data', namespace: 'default' },
    spec: { volumeName: 'pv-1' },
  });
  await cluster.kube.create(kubeResources.volumeAttachments, {
    metadata: { name: 'va-1' },
    spec: { attacher: 'ebs.csi.aws.com', nodeName: 'n1', source: { persistentVolumeName: 'pv-1' } },
    status: { attached: true },
  });
  await cluster.pass(2);
  reap({ kube: full(cluster.kube), urgentKube: cluster.kube });
  await cluster.pass(3);
  cluster.twin.notify({ kind: 'spot-interruption', instanceId });
  expect(await cluster.pass(80, () => stateOf(instanceId) !== 'running')).toBe(true);
});

/** Whether a pod is still on the node and was not told to end. */
const isLeft = (pod: { readonly metadata: object } & Record<string, unknown>): boolean =>
  (pod['spec'] as { readonly nodeName?: string }).nodeName === 'n1' &&
  !('deletionTimestamp' in pod.metadata);
