import { createAwsCloud } from '@dovetail/adapter-aws/cloud';
import type { LaunchTemplateSpec } from '@dovetail/core-ports';
import { systemClock } from '@dovetail/runtime';
import {
  claims,
  events,
  fleetsRequested,
  instances,
  labelOf,
  ourNodes,
  untilNothingLeft,
  untilRunning,
} from '@dovetail/test-support/cluster';
import { createPods, podObject } from '@dovetail/test-support/placement';
import { logged, serviceOf } from '@dovetail/test-support/service-view';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * Launch templates of the user's own, as Provisioners named them: the services launch from them
 * under the policies of deploy/iam, and never change or delete them.
 */
const provisioner = (name: string, template: string, more = ''): string => `
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: { name: ${name} }
spec:
  requirements:
    - { key: karpenter.sh/capacity-type, operator: In, values: [on-demand] }
    - { key: kubernetes.io/arch, operator: In, values: [amd64] }
  ttlSecondsAfterEmpty: 30
  provider:
    launchTemplate: ${template}
    subnetSelector: { kubernetes.io/cluster/lab: '*' }
${more}`;

const nodeTemplate = `
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata: { name: wrong }
spec:
    launchTemplate: mine
    subnetSelector: { kubernetes.io/cluster/lab: '*' }
`;

const podOf = (name: string) =>
  podObject(
    `on-${name}`,
    { cpu: '1' },
    { nodeSelector: { 'karpenter.sh/provisioner-name': name } },
  );

/** The image's own program asks EKS for the rest. */
const userData = `#!/bin/bash
/etc/eks/bootstrap.sh lab --kubelet-extra-args '--node-labels=team=own'
`;

/** The tags that the guide asks for: of the template, and of the interfaces that it makes. */
const asTheGuideSays = {
  'kubernetes.io/cluster/lab': 'owned',
  'eks:eks-cluster-name': 'lab',
} as const;

describe.each(await worlds())("launch templates of the user's own on the %s world", (world) => {
  let at: TestWorld;
  let aws: ReturnType<typeof createAwsCloud>;
  let template: LaunchTemplateSpec;
  beforeAll(async () => {
    at = await openWorld({ world, kubernetesVersion: '1.32' });
    aws = createAwsCloud({
      region: at.lab.options.region,
      endpoint: at.lab.cloudUrl,
      credentials: { accessKeyId: 'somebody', secretAccessKey: 'somebody' },
      clock: systemClock,
    });
    const image = '/aws/service/eks/optimized-ami/1.32/amazon-linux-2/recommended/image_id';
    const groups = await aws.securityGroups([
      { name: 'tag:kubernetes.io/cluster/lab', values: ['*'] },
    ]);
    template = {
      name: 'mine',
      imageId: (await aws.parameter(image)) ?? '',
      userDataBase64: Buffer.from(userData).toString('base64'),
      securityGroupIds: groups.map(({ id }) => id),
      blockDevices: [],
      metadataOptions: {},
      detailedMonitoring: false,
      tags: {},
      instanceProfileName: 'KarpenterNodeInstanceProfile-lab',
    };
  });
  afterAll(async () => {
    aws?.close();
    await at?.close();
  });

  /** Waits for an Event of this reason on a NodeClaim of the Provisioner. */
  const claimTold = (of: string, reason: string): Promise<unknown> =>
    eventually(`a NodeClaim of ${of} to tell ${reason}`, async () => {
      const names = (await claims(at))
        .filter((claim) => labelOf(claim, 'karpenter.sh/provisioner-name') === of)
        .map(({ metadata }) => metadata.name);
      return (await events(at)).some(
        (event) =>
          event.reason === reason &&
          event.involvedObject?.kind === 'NodeClaim' &&
          names.includes(event.involvedObject.name ?? ''),
      );
    });

  test('a template beside what it has of its own is refused by the name of the field', async () => {
    const beside = '    securityGroupSelector: { a: b }\n';
    await expect(at.kube.putManifests(`${nodeTemplate}${beside}`)).rejects.toThrow(
      /launchTemplate has the content of .*securityGroupSelector.*: leave these out/,
    );
    // The API server takes anything as a Provisioner's own provider.
    await at.kube.putManifests(provisioner('wrong', 'mine', beside));
    const launcher = await serviceOf(at.lab, 'launcher');
    await eventually('the launcher to name the field', async () =>
      (await logged(launcher, 'object-unreadable')).some(({ msg }) =>
        /spec\.provider\.securityGroupSelector.*leave it out: the launch template mine/.test(msg),
      ),
    );
    await at.kubectl('delete', 'provisioner', 'wrong');
  });

  test('a template that does not exist is told on the claim', async () => {
    await at.kube.putManifests(provisioner('gone', 'none'));
    await createPods(at, [podOf('gone')]);
    await claimTold('gone', 'LaunchTemplateNotFound');
    await at.kubectl('delete', 'pod', 'on-gone');
    await at.kubectl('delete', 'provisioner', 'gone', '--wait=false');
  });

  test('a template without the tags of the policies launches nothing, and the claim says that AWS denied it', async () => {
    await aws.ensureLaunchTemplate(template);
    await at.kube.putManifests(provisioner('own', 'mine'));
    await createPods(at, [podOf('own')]);
    await claimTold('own', 'Unauthorized');
    expect(await instances(at)).toEqual([]);
  });

  test('with them it boots the node, with its image, groups and user data', async () => {
    await aws.deleteLaunchTemplate('mine');
    await aws.ensureLaunchTemplate({ ...template, tags: asTheGuideSays });
    const [pod] = await untilRunning(at, 'default', 1, 180_000);
    const [instance, ...others] = await instances(at);
    expect(others).toEqual([]);
    expect(instance).toMatchObject({
      imageId: template.imageId,
      securityGroupIds: template.securityGroupIds,
      tags: { 'karpenter.sh/provisioner-name': 'own' },
    });
    expect(instance?.userData).toBe(userData);
    const [node] = await ourNodes(at);
    expect(pod?.spec.nodeName).toBe(node?.metadata.name);
    expect(node?.metadata.labels).toMatchObject({
      team: 'own',
      'karpenter.sh/provisioner-name': 'own',
    });
    const launch = await eventually('the launch as a decision', () =>
      at.decisions.of('launch').find(({ instanceId }) => instanceId === instance?.instanceId),
    );
    expect(launch.facts).toMatchObject({ launchTemplate: 'mine' });
    const named = (await fleetsRequested(at)).flatMap(({ configs }) => configs);
    expect(new Set(named.map(({ launchTemplateName }) => launchTemplateName))).toEqual(
      new Set(['mine']),
    );
  });

  test('it stays when its Provisioner and nodes have gone', async () => {
    await at.kubectl('delete', 'pod', 'on-own');
    await at.kubectl('delete', 'provisioner', 'own', '--wait=false');
    await untilNothingLeft(at);
    await at.lab.advanceClock(3_600_000);
    const left = await aws.launchTemplates({ key: 'kubernetes.io/cluster/lab', value: 'owned' });
    expect(left.map(({ name }) => name)).toEqual(['mine']);
  });
});
