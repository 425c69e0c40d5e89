import { KubeError, type KubeObject, type KubeReads, kubeResources } from '@dovetail/core-ports';
import { nodeClassObject, nodePoolObject, podObject, Stage } from '@dovetail/sim-stage';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { leftovers, leftWithin, refusal } from './leftovers.js';

let stage: Stage;
beforeEach(async () => {
  stage = await new Stage().begin();
});
afterEach(() => stage.end());

const claim = (name: string): KubeObject => ({
  metadata: { name },
  spec: {
    nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
    requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
  },
});
const node = (
  name: string,
  finalizers: readonly string[],
  classLabel = 'karpenter.k8s.aws/ec2nodeclass',
): KubeObject => ({ metadata: { name, finalizers, labels: { [classLabel]: 'default' } } });
const template = { metadata: { name: 'old' }, spec: { subnetSelector: { a: 'b' } } };
const provisioner = (name: string, spec: object): KubeObject => ({ metadata: { name }, spec });

const found = async (): Promise<readonly (readonly [string, readonly string[]])[]> =>
  (await leftovers(stage.kube)).map(({ resource, names }) => [resource.plural, names]);

test('pools, pods and nodes of others do not need Dovetail', async () => {
  await stage.kube.create(kubeResources.nodePools, nodePoolObject());
  await stage.kube.create(kubeResources.pods, podObject('p'));
  await stage.kube.create(kubeResources.nodes, node('base', ['other/finalizer']));
  await stage.kube.create(
    kubeResources.nodes,
    node('auto', ['karpenter.sh/termination'], 'eks.amazonaws.com/nodeclass'),
  );
  await stage.kube.create(
    kubeResources.provisioners,
    provisioner('of-a-template', { providerRef: { name: 'old' } }),
  );
  expect(await found()).toEqual([]);
});

test.each([
  ['nodeClaims', claim('b')],
  ['nodes', node('n', ['karpenter.sh/termination'])],
  ['ec2NodeClasses', nodeClassObject()],
  ['awsNodeTemplates', template],
  ['provisioners', provisioner('inline', { provider: { subnetSelector: { a: 'b' } } })],
] as const)('%s are left', async (kind, object) => {
  await stage.kube.create(kubeResources[kind], object);
  expect(await found()).toEqual([[kubeResources[kind].plural, [object.metadata.name]]]);
});

test('without the definitions nothing can be left', async () => {
  await stage.end();
  stage = await new Stage({ crds: () => false }).begin();
  expect(await found()).toEqual([]);
});

test('a refusal names five of each kind, and the way out', async () => {
  for (const name of ['g', 'f', 'e', 'd', 'c', 'b', 'a'])
    await stage.kube.create(kubeResources.nodeClaims, claim(name));
  await stage.kube.create(kubeResources.nodes, node('n', ['karpenter.sh/termination']));
  const text = refusal(await leftovers(stage.kube));
  expect(text).toContain('  nodeclaims.karpenter.sh: a, b, c, d, e and 2 more\n  nodes: n\n');
  expect(text).toContain('helm uninstall --no-hooks');
});

test('nothing must be left for the whole time to settle', async () => {
  const pauses: number[] = [];
  const pause = async (ms: number): Promise<void> => void pauses.push(ms);
  expect(await leftWithin(stage.kube, 12_000, pause)).toEqual([]);
  expect(pauses).toEqual([5_000, 5_000, 2_000]);
  const launching = async (): Promise<void> =>
    void (await stage.kube.create(kubeResources.nodeClaims, claim('late')));
  expect(await leftWithin(stage.kube, 12_000, launching)).toMatchObject([{ names: ['late'] }]);
});

test('what cannot be read is no proof that nothing is left', async () => {
  const denied: KubeReads = {
    list: () => Promise.reject(new KubeError('denied', 'nodeclaims is forbidden')),
    get: () => Promise.reject(new KubeError('denied', 'forbidden')),
  };
  await expect(leftovers(denied)).rejects.toThrow('nodeclaims is forbidden');
});
