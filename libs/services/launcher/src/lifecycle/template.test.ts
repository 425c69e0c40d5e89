import { kubeResources } from '@dovetail/core-ports';
import { nodeClassObject, nodePoolObject, podObject } from '@dovetail/sim-stage';
import { afterEach, expect, test } from 'vitest';

import { type LauncherStage, launcherStage } from '../testing/launcher-stage.js';

let self: LauncherStage;
afterEach(() => {
  self.end();
});
const { pods, nodes, nodePools, ec2NodeClasses } = kubeResources;

test("all that a pool's template says of its nodes is on the node", async () => {
  self = await launcherStage();
  await self.kube.create(ec2NodeClasses, nodeClassObject());
  const team = { key: 'example.com/team', value: 'a', effect: 'NoSchedule' };
  const agent = { key: 'example.com/agent', effect: 'NoExecute' };
  const pool = nodePoolObject('general', { node: { taints: [team], startupTaints: [agent] } });
  const spec = pool['spec'] as { readonly template: object };
  await self.kube.create(nodePools, {
    ...pool,
    spec: {
      ...spec,
      template: {
        ...spec.template,
        metadata: { labels: { tier: 'web' }, annotations: { foo: 'bar', 'example.com/x': 'y' } },
      },
    },
  });
  self.launcher('one');
  await self.planningPossible();
  const tolerations = [{ operator: 'Exists' }];
  await self.kube.create(pods, podObject('a', { spec: { tolerations } }));
  await self.until('the pod', () => self.planner.cluster.pods.size === 1);
  await self.planner.planFor(['a']);
  const node = await self.until('a registered node', async () =>
    (await self.kube.list(nodes)).find(
      ({ metadata }) => metadata.labels?.['karpenter.sh/registered'] === 'true',
    ),
  );
  expect(node.metadata.annotations).toMatchObject({ foo: 'bar', 'example.com/x': 'y' });
  expect(node.metadata.annotations).not.toHaveProperty(['dovetail.sh/launch-intent']);
  expect(node.metadata.labels).toMatchObject({ tier: 'web' });
  expect((node['spec'] as { readonly taints: unknown[] }).taints).toEqual(
    expect.arrayContaining([expect.objectContaining(team), expect.objectContaining(agent)]),
  );
});
