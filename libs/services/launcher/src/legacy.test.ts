import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { conditionOf, conditionsIn } from '@dovetail/service-kit';
import type { Machine } from '@dovetail/sim-cloud';
import { nodeClassObject, nodePoolObject, podObject } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from 'vitest';

import { claimFrom } from './cluster/readings.js';
import { type LauncherStage, launcherStage } from './testing/launcher-stage.js';

let self: LauncherStage;

afterEach(() => {
  self.end();
});

const { pods, nodes, nodeClaims, nodePools, ec2NodeClasses, provisioners, awsNodeTemplates } =
  kubeResources;

const running = async (count: number): Promise<boolean> =>
  (await self.kube.list(pods)).filter(
    (pod) => (pod['status'] as { phase?: string }).phase === 'Running',
  ).length === count;

const claims = async () => (await self.kube.list(nodeClaims)).map(claimFrom);

const requirements = [
  { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot', 'on-demand'] },
];

const inline = (name: string): KubeObject => ({
  apiVersion: 'karpenter.sh/v1alpha5',
  kind: 'Provisioner',
  metadata: { name },
  spec: {
    requirements,
    limits: { resources: { cpu: 1000 } },
    ttlSecondsAfterEmpty: 30,
    provider: {
      subnetSelector: { 'kubernetes.io/cluster/lab': '*' },
      securityGroupSelector: { 'kubernetes.io/cluster/lab': '*' },
    },
  },
});

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

describe('pools of the older API', () => {
  test('a Provisioner with an inline provider runs pods on spot; what was found stands in its status', async () => {
    self = await launcherStage();
    await self.kube.create(provisioners, inline('default'));
    const node = await runOne();
    expect(node.metadata.labels).toMatchObject({
      'karpenter.sh/provisioner-name': 'default',
      'karpenter.sh/capacity-type': 'spot',
    });
    expect(node.metadata.labels?.['karpenter.sh/nodepool']).toBeUndefined();
    const [provisioner] = await self.kube.list(provisioners);
    expect(provisioner?.['status']).toMatchObject({
      provider: {
        subnets: [{ zone: 'us-west-2a' }, { zone: 'us-west-2b' }],
        instanceProfile: 'KarpenterNodeInstanceProfile-lab',
      },
    });
    expect((await claims())[0]).toMatchObject({
      classRef: { kind: 'InlineProvider', name: 'default' },
      pool: { kind: 'Provisioner', name: 'default' },
    });
    await self.until(
      'resources in its status',
      async () =>
        ((await self.kube.list(provisioners))[0]?.['status'] as { resources?: { nodes?: string } })
          .resources?.nodes === '1',
    );
  });

  test("a Provisioner with an AWSNodeTemplate boots Bottlerocket with the user's TOML merged in", async () => {
    self = await launcherStage();
    await self.kube.create(awsNodeTemplates, {
      apiVersion: 'karpenter.k8s.aws/v1alpha1',
      kind: 'AWSNodeTemplate',
      metadata: { name: 'team1' },
      spec: {
        amiFamily: 'Bottlerocket',
        userData: '[settings.kubernetes.node-labels]\n"team" = "team1"\n',
        subnetSelector: { 'alpha.eksctl.io/cluster-name': 'lab' },
        securityGroupSelector: { 'alpha.eksctl.io/cluster-name': 'lab' },
      },
    });
    await self.kube.create(provisioners, {
      ...inline('team1'),
      spec: {
        requirements: [
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
        ],
        labels: { intent: 'apps' },
        providerRef: { name: 'team1' },
        ttlSecondsAfterEmpty: 30,
      },
    });
    const node = await runOne();
    expect(node.metadata.labels).toMatchObject({
      intent: 'apps',
      team: 'team1',
      'karpenter.sh/capacity-type': 'on-demand',
    });
    expect(
      conditionOf(conditionsIn((await self.kube.list(awsNodeTemplates))[0] as KubeObject), 'Ready')
        ?.status,
    ).toBe('True');
  });

  test("a Provisioner's kubeletConfiguration is what its nodes boot with, and what their room is planned by, beside an AWSNodeTemplate", async () => {
    self = await launcherStage();
    await self.kube.create(awsNodeTemplates, {
      apiVersion: 'karpenter.k8s.aws/v1alpha1',
      kind: 'AWSNodeTemplate',
      metadata: { name: 'default' },
      spec: {
        subnetSelector: { 'kubernetes.io/cluster/lab': '*' },
        securityGroupSelector: { 'kubernetes.io/cluster/lab': '*' },
      },
    });
    const kubeletConfiguration = {
      maxPods: 20,
      clusterDNS: ['10.0.0.53'],
      systemReserved: { cpu: '500m' },
      evictionHard: { 'memory.available': '10%' },
    };
    await self.kube.create(provisioners, {
      ...inline('default'),
      spec: {
        requirements: [
          { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
        ],
        providerRef: { name: 'default' },
        kubeletConfiguration,
      },
    });
    const machines: Machine[] = [];
    self.twin.onBoot((machine) => void machines.push(machine));
    const node = await runOne();
    expect((node['status'] as { capacity: object }).capacity).toMatchObject({ pods: '20' });
    const [claim] = await claims();
    expect(claim?.capacity['pods']).toBe(20);
    expect(machines.map(({ boot }) => boot)).toEqual([
      expect.objectContaining({
        config: expect.objectContaining({
          systemReserved: { cpu: '500m' },
          evictionHard: { 'memory.available': '10%' },
        }),
      }),
    ]);
  });

  test('a Provisioner whose kubeletConfiguration cannot be read as amounts is not ready, and says which and what to write', async () => {
    self = await launcherStage();
    await self.kube.create(provisioners, {
      ...inline('default'),
      spec: {
        ...(inline('default')['spec'] as object),
        kubeletConfiguration: { systemReserved: { cpu: 'much' } },
      },
    });
    self.launcher('one');
    await self.until('what is wrong with it', async () =>
      /kubeletConfiguration.*cpu/.test(
        JSON.stringify((await self.kube.list(provisioners))[0]?.['status'] ?? {}),
      ),
    );
  });

  test('a Provisioner and a NodePool of one name are two pools', async () => {
    self = await launcherStage();
    await self.kube.create(provisioners, inline('default'));
    await self.kube.create(ec2NodeClasses, nodeClassObject());
    await self.kube.create(nodePools, nodePoolObject('default'));
    const node = await runOne();
    expect(
      Object.keys(node.metadata.labels ?? {}).filter(
        (key) => key === 'karpenter.sh/nodepool' || key === 'karpenter.sh/provisioner-name',
      ),
    ).toHaveLength(1);
  });
});

describe('a class that is deleted', () => {
  test('waits for its claims, then its profile and its own launch templates go with it', async () => {
    self = await launcherStage();
    await self.readyPool();
    await runOne();
    await self.kube.delete({ resource: ec2NodeClasses, name: 'default' });
    const held = await self.kube.get({ resource: ec2NodeClasses, name: 'default' });
    expect(held?.metadata.finalizers).toEqual(['karpenter.k8s.aws/termination']);
    const templates = async (): Promise<readonly string[]> =>
      (await self.cloud.launchTemplates({ key: 'kubernetes.io/cluster/lab', value: 'owned' })).map(
        ({ name }) => name,
      );
    expect(await templates()).not.toEqual([]);
    const others = {
      imageId: 'ami-1',
      userDataBase64: '',
      securityGroupIds: [],
      blockDevices: [],
      metadataOptions: {},
      detailedMonitoring: false,
    };
    await self.cloud.ensureLaunchTemplate({
      ...others,
      name: 'node-group',
      tags: { 'kubernetes.io/cluster/lab': 'owned' },
    });
    await self.cloud.ensureLaunchTemplate({
      ...others,
      name: 'karpenter.k8s.aws/1',
      tags: { 'kubernetes.io/cluster/lab': 'owned', 'karpenter.k8s.aws/ec2nodeclass': 'gone' },
    });
    // The reaper's part: the claim and its node end.
    const [claim] = await claims();
    for (const ref of [
      { resource: nodeClaims, name: claim?.name ?? '' },
      { resource: nodes, name: claim?.nodeName ?? '' },
    ]) {
      await self.kube.delete(ref);
      await self.kube.patch(ref, { type: 'merge', body: { metadata: { finalizers: null } } });
    }
    await self.advance(11_000);
    await self.until(
      'the class to go',
      async () =>
        (await self.kube.get({ resource: ec2NodeClasses, name: 'default' })) === undefined,
    );
    await self.advance(31_000);
    // Another tool's stay, whatever their tags.
    await self.until(
      'its templates to go, and no others',
      async () =>
        JSON.stringify((await templates()).toSorted()) ===
        JSON.stringify(['karpenter.k8s.aws/1', 'node-group']),
    );
    expect(self.twin.iam.profiles().map((profile) => profile.name)).toEqual([
      'KarpenterNodeInstanceProfile-lab',
    ]);
  });
});

describe('placement', () => {
  test('left to the scheduler, nothing is cordoned and nothing bound', async () => {
    self = await launcherStage({ controlPlane: {} });
    await self.readyPool();
    self.launcher('one', { config: { placement: 'scheduler' } });
    await self.planningPossible();
    await self.kube.create(pods, podObject('a'));
    await self.until('the pod in view', () => self.planner.cluster.pods.size === 1);
    await self.planner.planFor(['a']);
    await self.until('a running pod', () => running(1));
    expect(self.log.lines.some((line) => line.includes('pod-bound'))).toBe(false);
  });

  test('a pod that only the scheduler can place is left to it, beside those that are bound', async () => {
    self = await launcherStage({ controlPlane: {} });
    await self.readyPool();
    self.launcher('one');
    await self.planningPossible();
    await self.kube.create(pods, podObject('plain'));
    await self.kube.create(
      pods,
      podObject('other', { spec: { schedulerName: 'second-scheduler' } }),
    );
    await self.until('the pods in view', () => self.planner.cluster.pods.size === 2);
    await self.planner.planFor(['plain', 'other']);
    await self.until('one running pod', () => running(1));
    await self.until('an open node', async () =>
      (await self.kube.list(nodes)).some(
        (node) =>
          node.metadata.labels?.['karpenter.sh/initialized'] === 'true' &&
          (node['spec'] as { unschedulable?: boolean }).unschedulable === undefined,
      ),
    );
    expect(self.log.lines.filter((line) => line.includes('pod-bound'))).toHaveLength(1);
  });

  test('a node that is not ready by the deadline opens regardless', async () => {
    self = await launcherStage({ controlPlane: {} });
    await self.kube.create(ec2NodeClasses, nodeClassObject());
    await self.kube.create(
      nodePools,
      nodePoolObject('general', {
        node: { startupTaints: [{ key: 'example.com/agent', effect: 'NoSchedule' }] },
      }),
    );
    self.launcher('one');
    await self.planningPossible();
    await self.kube.create(pods, podObject('a'));
    await self.until('the pod in view', () => self.planner.cluster.pods.size === 1);
    await self.planner.planFor(['a']);
    const node = await self.until('a cordoned node', async () =>
      (await self.kube.list(nodes)).find(
        (each) => (each['spec'] as { unschedulable?: boolean }).unschedulable === true,
      ),
    );
    expect(await running(1)).toBe(false);
    await self.advance(5 * 60_000 + 1_000);
    await self.until(
      'the node to open',
      async () =>
        (
          (await self.kube.get({ resource: nodes, name: node.metadata.name }))?.['spec'] as {
            unschedulable?: boolean;
          }
        ).unschedulable === undefined,
    );
  });
});
