import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { conditionOf } from '@dovetail/service-kit';
import { podObject } from '@dovetail/sim-stage';
import { afterEach, describe, expect, jest, test } from '@jest/globals';

import { claimFrom } from './cluster/readings.js';
import { type LauncherStage, launcherStage } from './testing/launcher-stage.js';

// Time is virtual, but a machine that does much else needs seconds for a virtual hour.
jest.setTimeout(60_000);

let self: LauncherStage;

afterEach(() => {
  self.end();
});

const { pods, nodes, nodeClaims } = kubeResources;

const running = async (count: number): Promise<boolean> =>
  (await self.kube.list(pods)).filter(
    (pod) => (pod['status'] as { phase?: string }).phase === 'Running',
  ).length === count;

const claims = async () => (await self.kube.list(nodeClaims)).map(claimFrom);

async function runOne(): Promise<KubeObject> {
  self.launcher('one');
  await self.planningPossible();
  await self.kube.create(pods, podObject('a'));
  await self.until('the pod in view', () => self.planner.cluster.pods.size === 1);
  await self.planner.planFor(['a']);
  await self.until('a running pod', () => running(1));
  return self.until('an initialised node', async () =>
    (await self.kube.list(nodes)).find(
      (node) => node.metadata.labels?.['karpenter.sh/initialized'] === 'true',
    ),
  );
}

describe('a replacement', () => {
  test('gets a claim that names the node it replaces and keeps room for what comes back', async () => {
    self = await launcherStage();
    await self.readyPool();
    const node = await runOne();
    const uid = node.metadata.uid ?? '';
    await self.until(
      'the bound pod in view',
      () =>
        [...self.planner.cluster.pods.values()].every((pod) => pod.nodeName !== undefined) &&
        self.planner.cluster.nodes.size === 1,
    );
    await self.planner.planFor(['a'], {
      cause: { kind: 'replacement', nodeName: node.metadata.name, nodeUid: uid, reason: 'expired' },
    });
    const second = await self.until('a second claim', async () =>
      (await claims()).find((claim) => claim.annotations['dovetail.sh/promise']?.includes(uid)),
    );
    expect(JSON.parse(second.annotations['dovetail.sh/promise'] ?? '')).toMatchObject({
      podUids: [],
      replaces: { nodeName: node.metadata.name, nodeUid: uid },
      reserved: { cpu: 1000 },
    });
    await self.until('it to be ready', async () =>
      (await claims()).every(
        (claim) => conditionOf(claim.conditions, 'Initialized')?.status === 'True',
      ),
    );
    expect(self.twin.instances.all()).toHaveLength(2);
  });
});
