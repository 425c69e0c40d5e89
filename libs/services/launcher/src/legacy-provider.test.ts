import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { conditionOf } from '@dovetail/service-kit';
import { podObject } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from 'vitest';

import { claimFrom } from './cluster/readings.js';
import { type LauncherStage, launcherStage } from './testing/launcher-stage.js';

let self: LauncherStage;

afterEach(() => {
  self.end();
});

const { pods, nodes, nodeClaims, provisioners } = kubeResources;

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

describe("a Provisioner's inline provider", () => {
  test("subnets and groups whose tag has an empty value are selected by '*', and said by name", async () => {
    self = await launcherStage({ clusterTagValue: '' });
    await self.kube.create(provisioners, inline('default'));
    await runOne();
    const [provisioner] = await self.kube.list(provisioners);
    const ids = self.twin.account.subnets.map(({ id }) => id);
    expect(provisioner?.['status']).toMatchObject({
      provider: {
        subnets: expect.arrayContaining(
          ids.map((id) => expect.objectContaining({ id })),
        ) as unknown,
        securityGroups: [{ id: self.twin.account.securityGroups[0]?.id }],
      },
    });
    expect(self.said('subnets-discovered').map(({ fields }) => fields)).toEqual([
      { class: 'InlineProvider/default', subnets: expect.arrayContaining(ids) as unknown },
    ]);
    expect(self.said('cluster-discovered')).toMatchObject([
      {
        message: expect.stringMatching(/^Discovered kubernetes version 1\.32 of cluster lab, /),
        fields: { kubernetesVersion: '1.32' },
      },
    ]);
    // 36 types in two zones, each for on-demand and Spot.
    expect(self.said('types-discovered')).toMatchObject([
      { message: expect.stringMatching(/^Discovered \d+ EC2 instance types with \d+ offerings$/) },
    ]);
    const [group] = self.twin.account.securityGroups;
    expect(self.said('security-groups-discovered')).toMatchObject([
      {
        message: `Discovered security groups of InlineProvider/default: ${group?.id} (${group?.name})`,
        fields: { securityGroups: [group?.id] },
      },
    ]);
    const made = self.said('template-created').map(({ message }) => message);
    expect(made.length).toBeGreaterThan(0);
    expect(
      made.filter((text) => !/^Created launch template dovetail\/[0-9a-f]{40}$/.test(text)),
    ).toEqual([]);
    expect(new Set(made).size).toBe(made.length);
    // Found again later, none of it is news.
    await self.advance(1_200_000);
    for (const name of ['subnets', 'security-groups', 'cluster', 'types'])
      expect(self.said(`${name}-discovered`).filter(({ level }) => level === 'info')).toHaveLength(
        1,
      );
  });

  test.each(['launchTemplate', 'launchTemplateName'])(
    "a launch template of the user's own (%s) boots the nodes, and is left alone",
    async (field) => {
      self = await launcherStage();
      const imageId = await self.cloud.parameter(
        '/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id',
      );
      await self.cloud.ensureLaunchTemplate({
        name: 'mine',
        imageId: imageId ?? '',
        userDataBase64: Buffer.from(
          '#!/bin/bash\n/etc/eks/bootstrap.sh lab --kubelet-extra-args "--node-labels=team=own"\n',
        ).toString('base64'),
        securityGroupIds: self.twin.account.securityGroups.map(({ id }) => id),
        blockDevices: [],
        metadataOptions: {},
        detailedMonitoring: false,
        tags: {},
        instanceProfileName: 'KarpenterNodeInstanceProfile-lab',
      });
      await self.kube.create(provisioners, {
        ...inline('default'),
        spec: {
          ...(inline('default')['spec'] as object),
          requirements: [
            { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
          ],
          provider: { subnetSelector: { 'kubernetes.io/cluster/lab': '*' }, [field]: 'mine' },
        },
      });
      const node = await runOne();
      expect(node.metadata.labels).toMatchObject({ team: 'own' });
      const [claim] = await claims();
      // Discovery does not look into the template.
      expect(claim?.imageId).toBeUndefined();
      const [provisioner] = await self.kube.list(provisioners);
      expect(provisioner?.['status']).toMatchObject({ provider: { amis: [], securityGroups: [] } });
      // Dovetail made no template of its own, and deletes none but its own.
      await self.advance(3_600_000);
      expect(
        await self.cloud.launchTemplates({ key: 'kubernetes.io/cluster/lab', value: 'owned' }),
      ).toEqual([]);
      expect(conditionOf(claim?.conditions ?? [], 'Drifted')).toBeUndefined();
    },
  );
});
