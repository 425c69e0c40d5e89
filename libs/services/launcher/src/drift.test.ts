import { karpenterClassHash, karpenterPoolHash } from '@dovetail/core-api';
import { type KubeObject, kubeResources, type ObjectRef } from '@dovetail/core-ports';
import { conditionOf, conditionsIn } from '@dovetail/service-kit';
import { podObject } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from 'vitest';

import { type LauncherStage, launcherStage } from './testing/launcher-stage.js';

let self: LauncherStage;
afterEach(() => {
  self.end();
});
const { nodeClaims, nodePools, ec2NodeClasses, pods } = kubeResources;
const poolRef = { resource: nodePools, name: 'general' };
const classRef = { resource: ec2NodeClasses, name: 'default' };

/** A stage with a node that is just what its pool and class ask for. */
async function bought(): Promise<{ readonly ends: () => void }> {
  self = await launcherStage();
  await self.readyPool();
  const { life } = self.launcher('one', { config: { clusterCa: 'LS0t' } });
  await self.planningPossible();
  await self.kube.create(pods, podObject('a'));
  await self.until('the pod in view', () => self.planner.cluster.pods.size === 1);
  await self.planner.planFor(['a']);
  await self.until(
    'a node that is initialized',
    () => conditionOf(conditionsIn(claim()), 'Initialized')?.status === 'True',
  );
  return { ends: () => life.stop.abort() };
}

const claim = (): KubeObject => {
  const [only] = self.list(nodeClaims);
  if (only === undefined) throw new Error('there is no claim');
  return only;
};
const claimRef = (): ObjectRef => ({ resource: nodeClaims, name: claim().metadata.name });
const drifted = () => conditionOf(conditionsIn(claim()), 'Drifted');
const patch = (ref: ObjectRef, body: object): Promise<unknown> =>
  self.kube.patch(ref, { type: 'merge', body });
const untilDrifted = (reason: string | undefined) =>
  self.until(`drift ${reason ?? 'to be over'}`, () => drifted()?.reason === reason, 400_000);
const template = (part: object): object => ({ spec: { template: part } });
const annotationsOf = async (ref: ObjectRef) =>
  (await self.kube.get(ref))?.metadata.annotations ?? {};
const specOf = async (ref: ObjectRef) =>
  (await self.kube.get(ref))?.['spec'] as Readonly<Record<string, unknown>>;

describe('the hashes', () => {
  test("of pool, class and claim are Karpenter's own", async () => {
    await bought();
    const ofPool = {
      'karpenter.sh/nodepool-hash': karpenterPoolHash((await specOf(poolRef))['template']),
      'karpenter.sh/nodepool-hash-version': 'v3',
    };
    const ofClass = {
      'karpenter.k8s.aws/ec2nodeclass-hash': karpenterClassHash(
        await specOf(classRef),
        'AL2023',
        'LS0t',
      ),
      'karpenter.k8s.aws/ec2nodeclass-hash-version': 'v6',
    };
    expect(await annotationsOf(poolRef)).toMatchObject(ofPool);
    expect(await annotationsOf(classRef)).toMatchObject(ofClass);
    expect(claim().metadata.annotations).toMatchObject({ ...ofPool, ...ofClass });
  });

  test('of another version are brought to ours, and nothing has drifted by it', async () => {
    await bought();
    const wanted = claim().metadata.annotations;
    const old = {
      'karpenter.sh/nodepool-hash': '1',
      'karpenter.sh/nodepool-hash-version': 'v2',
      'karpenter.k8s.aws/ec2nodeclass-hash': '2',
      'karpenter.k8s.aws/ec2nodeclass-hash-version': 'v5',
    };
    await patch(claimRef(), { metadata: { annotations: old } });
    await self.until(
      'our hashes',
      () => claim().metadata.annotations?.['karpenter.sh/nodepool-hash'] !== '1',
      30_000,
    );
    expect(claim().metadata.annotations).toEqual(wanted);
    await self.clock.advance(310_000);
    expect(drifted()).toBeUndefined();
  });

  test('of another version are not written on a node that has drifted', async () => {
    await bought();
    await patch(poolRef, template({ metadata: { labels: { team: 'a' } } }));
    await untilDrifted('NodePoolDrifted');
    const before = claim().metadata.annotations?.['karpenter.sh/nodepool-hash'];
    await patch(claimRef(), {
      metadata: { annotations: { 'karpenter.sh/nodepool-hash-version': 'v2' } },
    });
    await self.until(
      'our version',
      () => claim().metadata.annotations?.['karpenter.sh/nodepool-hash-version'] === 'v3',
      30_000,
    );
    expect(claim().metadata.annotations?.['karpenter.sh/nodepool-hash']).toBe(before);
    expect(drifted()?.reason).toBe('NodePoolDrifted');
  });
});

describe('a node that was just what its pool and class ask for', () => {
  test('has not drifted, and is not written to again', async () => {
    await bought();
    await self.clock.advance(10_000);
    const before = claim().metadata.resourceVersion;
    await self.clock.advance(650_000);
    expect(drifted()).toBeUndefined();
    expect(claim().metadata.resourceVersion).toBe(before);
  });

  test.each<[string, object, object, string]>([
    [
      'a label of the template',
      template({ metadata: { labels: { team: 'a' } } }),
      template({ metadata: { labels: null } }),
      'NodePoolDrifted',
    ],
    [
      'a taint',
      template({ spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } }),
      template({ spec: { taints: null } }),
      'NodePoolDrifted',
    ],
    [
      'a requirement',
      template({
        spec: {
          requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] }],
        },
      }),
      template({
        spec: {
          requirements: [
            { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
          ],
        },
      }),
      'RequirementsDrifted',
    ],
  ])(
    'drifts when %s of its pool changes, until it changes back',
    async (_what, to, back, reason) => {
      await bought();
      await patch(poolRef, to);
      await untilDrifted(reason);
      expect(drifted()).toMatchObject({ status: 'True' });
      await patch(poolRef, back);
      await untilDrifted(undefined);
    },
  );

  test('drifts when the tags or the subnets of its class change', async () => {
    await bought();
    const [instance] = self.twin.instances.all();
    const subnets = await self.cloud.subnets([]);
    const others = subnets.filter(({ id }) => id !== instance?.subnetId);
    const selected = (await specOf(classRef))['subnetSelectorTerms'];
    await patch(classRef, { spec: { tags: { team: 'a' } } });
    await untilDrifted('NodeClassDrift');
    await patch(classRef, { spec: { tags: null } });
    await untilDrifted(undefined);
    const terms = others.slice(0, 1).map(({ id }) => ({ id }));
    await patch(classRef, { spec: { subnetSelectorTerms: terms } });
    await untilDrifted('SubnetDrift');
    await patch(classRef, { spec: { subnetSelectorTerms: selected } });
    await untilDrifted(undefined);
  });

  test('drifts when its class selects another image', async () => {
    await bought();
    await patch(classRef, { spec: { amiSelectorTerms: [{ alias: 'bottlerocket@latest' }] } });
    await untilDrifted('NodeClassDrift');
  });

  test('drifts when its type is gone for an hour, though launchers live for less', async () => {
    const { ends } = await bought();
    const typeLabel = 'node.kubernetes.io/instance-type';
    const type = claim().metadata.labels?.[typeLabel];
    await patch(claimRef(), { metadata: { labels: { [typeLabel]: 'gone.large' } } });
    const since = () => claim().metadata.annotations?.['dovetail.sh/type-missing'];
    await self.until('the time since when', () => since() !== undefined, 400_000);
    const first = since();
    await self.clock.advance(40 * 60_000);
    ends();
    self.launcher('two', { config: { clusterCa: 'LS0t' } });
    await self.clock.advance(15 * 60_000);
    expect([drifted(), since()]).toEqual([undefined, first]);
    await self.until('the drift', () => drifted()?.reason === 'InstanceTypeNotFound', 10 * 60_000);
    await patch(claimRef(), { metadata: { labels: { [typeLabel]: type } } });
    await self.until('no such time', () => since() === undefined, 400_000);
    expect(drifted()).toBeUndefined();
  });
});
