import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import type { BinOption } from '@dovetail/core-scheduling';
import { conditionOf } from '@dovetail/service-kit';
import { nodeClassObject, nodePoolObject, podObject } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from 'vitest';

import { claimFrom } from './cluster/readings.js';
import { type LauncherStage, launcherStage } from './testing/launcher-stage.js';

let self: LauncherStage;

afterEach(() => {
  self.end();
});

const { ec2NodeClasses, nodePools, pods, nodes, nodeClaims } = kubeResources;

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

  test('by a command is never launched as a mix of its options that costs more than each', async () => {
    self = await launcherStage();
    const onSpot = { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] };
    await self.kube.create(ec2NodeClasses, nodeClassObject());
    await self.kube.create(
      nodePools,
      nodePoolObject('general', { node: { requirements: [onSpot] } }),
    );
    const node = await runOne();
    await self.until('the bound pod in view', () =>
      [...self.planner.cluster.pods.values()].every((pod) => pod.nodeName !== undefined),
    );
    let dear: Mix | undefined;
    await self.planner.planFor(['a'], {
      cause: {
        kind: 'replacement',
        nodeName: node.metadata.name,
        nodeUid: node.metadata.uid ?? '',
        reason: 'underutilized',
        command: 'underutilized-1',
      },
      change: (message) => {
        const [bin] = message.plan.newNodes;
        if (bin === undefined) throw new Error('the plan buys nothing');
        dear = mixOf(bin.options);
        const newNodes = [{ ...bin, options: [...dear.options] }];
        return { ...message, plan: { ...message.plan, newNodes } };
      },
    });
    const bought = await self.until('a launched claim', async () =>
      (await claims()).find(
        ({ annotations }) =>
          annotations['dovetail.sh/max-price-per-hour'] !== undefined &&
          annotations['dovetail.sh/price-per-hour'] !== undefined,
      ),
    );
    const { options = [], type, zone } = dear ?? {};
    const cap = Number(bought.annotations['dovetail.sh/max-price-per-hour']) * 1e6;
    expect(cap).toBe(Math.max(...options.map(({ priceMicrosPerHour }) => priceMicrosPerHour)));
    const sent =
      self.twin.fleets
        .all()
        .at(-1)
        ?.input.configs.flatMap((each) => each.overrides) ?? [];
    const zoneOf = new Map(self.twin.account.subnets.map((subnet) => [subnet.id, subnet.zone]));
    const asked = sent.map(
      ({ instanceType, subnetId = '' }) => `${instanceType} in ${zoneOf.get(subnetId)}`,
    );
    for (const option of options)
      expect(asked).toContain(`${option.instanceType} in ${option.zone}`);
    expect(asked).not.toContain(`${String(type)} in ${String(zone)}`);
  });
});

type Mix = { readonly options: readonly BinOption[]; readonly type: string; readonly zone: string };

/** Two options, and the type of one in the zone of the other, which costs more than both. */
function mixOf(options: readonly BinOption[]): Mix {
  for (const a of options)
    for (const b of options)
      for (const { instanceType: type, zone, priceMicrosPerHour } of options)
        if (
          a.instanceType !== b.instanceType &&
          type === a.instanceType &&
          zone === b.zone &&
          priceMicrosPerHour > Math.max(a.priceMicrosPerHour, b.priceMicrosPerHour)
        )
          return { options: [a, b].sort(cheapestFirst), type, zone };
  throw new Error('no mix is dearer than its options');
}

const cheapestFirst = (a: BinOption, b: BinOption): number =>
  a.priceMicrosPerHour - b.priceMicrosPerHour;
