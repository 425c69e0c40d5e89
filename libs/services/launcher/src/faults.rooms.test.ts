import { annotations, parsePromise } from '@dovetail/core-api';
import { type KubeObject } from '@dovetail/core-ports';
import { podObject } from '@dovetail/sim-stage';
import { describe, expect, test } from 'vitest';

import { nodes, pods, ready, running, self } from './testing/faults.js';

describe('room on nodes that exist', () => {
  async function withNode(): Promise<KubeObject> {
    await ready();
    await self.kube.create(pods, podObject('first', { cpu: '1500m' }));
    await self.until('the pod in view', () => self.planner.cluster.pods.size === 1);
    await self.planner.planFor(['first']);
    await self.until('a running pod', () => running(1));
    return self.until('an initialised node', async () =>
      (await self.kube.list(nodes)).find(
        (node) => node.metadata.labels?.['karpenter.sh/initialized'] === 'true',
      ),
    );
  }

  test('is promised on the node, and the promise is told', async () => {
    const node = await withNode();
    await self.kube.create(pods, podObject('second', { cpu: '100m', memory: '100Mi' }));
    await self.until(
      'the pod in view',
      () =>
        [...self.planner.cluster.nodes.values()].some(
          (each) => each.labels['karpenter.sh/initialized'] === 'true',
        ) && self.planner.cluster.pods.size === 2,
    );
    const planned = await self.planner.planFor(['second']);
    expect(planned.plan.placements).toHaveLength(1);
    const promise = await self.until('a promise on the node', async () =>
      parsePromise(
        (await self.kube.get({ resource: nodes, name: node.metadata.name }))?.metadata
          .annotations?.[annotations.promise],
      ),
    );
    expect(promise.podUids).toEqual(planned.plan.placements[0]?.podUids);
    expect(promise.untilMs).toBeGreaterThan(self.clock.nowMs());
  });

  test('is not promised on a node whose retirement began meanwhile: the promise is taken back', async () => {
    const node = await withNode();
    await self.kube.create(pods, podObject('second', { cpu: '100m', memory: '100Mi' }));
    await self.until(
      'the pod in view',
      () =>
        [...self.planner.cluster.nodes.values()].some(
          (each) => each.labels['karpenter.sh/initialized'] === 'true',
        ) && self.planner.cluster.pods.size === 2,
    );
    // The taint comes between the launcher's judgement and its promise: just before its write
    // reaches the API server.
    const tainted = self.beforePatch('nodes', async () => {
      await self.kube.patch(
        { resource: nodes, name: node.metadata.name },
        {
          type: 'merge',
          body: { spec: { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] } },
        },
      );
    });
    await self.planner.planFor(['second']);
    await tainted();
    await self.until('the refusal', () =>
      self.log.lines.some(
        (line) => line.includes('decision-refuse') && line.includes('node-retiring'),
      ),
    );
    expect(
      (await self.kube.get({ resource: nodes, name: node.metadata.name }))?.metadata.annotations?.[
        annotations.promise
      ],
    ).toBeUndefined();
  });
});
