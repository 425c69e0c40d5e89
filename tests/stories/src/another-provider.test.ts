import { type KubeObject, type KubeResource, kubeResources } from '@dovetail/core-ports';
import { nodeClassObject, nodePoolObject, podObject } from '@dovetail/sim-stage';
import { expect, test } from 'vitest';

import { StoryStage } from './story-stage.js';

const { nodePools, nodeClaims, nodes, pods, ec2NodeClasses } = kubeResources;
const nodeClassRef = { group: 'eks.amazonaws.com', kind: 'NodeClass', name: 'default' };
const labels = {
  'karpenter.sh/nodepool': 'general-purpose',
  'karpenter.sh/registered': 'true',
  'karpenter.sh/initialized': 'true',
  'eks.amazonaws.com/nodeclass': 'default',
  'topology.kubernetes.io/zone': 'us-west-2a',
};
const finalizers = ['karpenter.sh/termination'];
const providerID = 'aws:///us-west-2a/i-0fedcba9876543210';

/** A pool of EKS Auto Mode, its claims, one of which is being deleted, and their nodes. */
const theirs: readonly (readonly [KubeResource, KubeObject])[] = [
  [nodePools, nodePoolObject('general-purpose', { node: { nodeClassRef } })],
  ...['stays', 'goes'].flatMap((name): readonly (readonly [KubeResource, KubeObject])[] => [
    [
      nodeClaims,
      { metadata: { name, labels, finalizers }, spec: { nodeClassRef, requirements: [] } },
    ],
    [
      nodes,
      {
        metadata: { name: `node-of-${name}`, labels, finalizers },
        spec: { providerID, taints: [{ key: 'theirs', effect: 'NoSchedule' }] },
      },
    ],
  ]),
];
const isTheirs = ({ metadata }: KubeObject): boolean =>
  theirs.some(([, object]) => object.metadata.name === metadata.name);

test('objects of another provider are neither written nor ended beside a pool that grows and shrinks', async () => {
  const stage = await new StoryStage().begin();
  const written = (): readonly string[] =>
    [nodePools, nodeClaims, nodes]
      .flatMap((resource) => stage.list(resource).filter(isTheirs))
      .map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion ?? ''}`);
  for (const [resource, object] of theirs) await stage.kube.create(resource, object);
  await stage.kube.delete({ resource: nodeClaims, name: 'goes' });
  const before = written();
  stage.start('services');
  await stage.kube.create(ec2NodeClasses, nodeClassObject());
  await stage.kube.create(nodePools, nodePoolObject());
  const ours = (): number => stage.list(nodeClaims).filter((one) => !isTheirs(one)).length;
  for (const name of ['a', 'b', 'c']) await stage.kube.create(pods, podObject(name));
  await stage.until('pods that run', () =>
    stage
      .list(pods)
      .every((pod) => (pod['status'] as { phase?: string } | undefined)?.phase === 'Running'),
  );
  expect(ours()).toBeGreaterThan(0);
  for (const name of ['a', 'b', 'c'])
    await stage.kube.delete({ resource: pods, namespace: 'default', name });
  await stage.until('the end of our nodes', () => ours() === 0);
  await stage.pass(600);
  expect(before).toHaveLength(theirs.length);
  expect(written()).toEqual(before);
  const eventsAbout = stage
    .list(kubeResources.events)
    .map((event) => (event['involvedObject'] as { readonly name: string }).name);
  expect(
    eventsAbout.filter((name) => theirs.some(([, each]) => each.metadata.name === name)),
  ).toEqual([]);
  stage.end();
});
