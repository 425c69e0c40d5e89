import { type KubeApi, kubeResources } from '@dovetail/core-ports';
import { Stage } from '@dovetail/sim-stage';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { guardedKube } from './guarded-kube.js';

const { leases, nodeClaims, nodes, pods } = kubeResources;
const rights = new Set([
  'list pods',
  'watch pods',
  'get nodes',
  'patch nodeclaims.karpenter.sh/status',
  'get leases.coordination.k8s.io mine',
]);
const [node, pod] = [
  { resource: nodes, name: 'a' },
  { namespace: 'default', name: 'a', uid: 'a' },
];
const patch = { type: 'merge', body: {} } as const;

describe('the API server behind the rights of an account', () => {
  let stage: Stage;
  let kube: KubeApi;
  let [used, denied]: [string[], string[]] = [[], []];
  beforeEach(async () => {
    stage = await new Stage().begin();
    [used, denied] = [[], []];
    kube = guardedKube(stage.kube, {
      rights,
      used: (right) => used.push(right),
      denied: (what) => denied.push(what),
    });
  });
  afterEach(() => stage.end());

  test.each<readonly [string, () => Promise<unknown>]>([
    ['list nodes', () => kube.list(nodes)],
    ['get pods', () => kube.get({ resource: pods, name: 'a', namespace: 'default' })],
    ['get leases.coordination.k8s.io', () => kube.get({ resource: leases, name: 'of-another' })],
    ['create pods', () => kube.create(pods, { metadata: { name: 'a' } })],
    ['patch nodes', () => kube.patch(node, patch)],
    ['patch nodeclaims.karpenter.sh', () => kube.patch({ resource: nodeClaims, name: 'a' }, patch)],
    ['update nodes', () => kube.replace(nodes, { metadata: { name: 'a' } })],
    ['delete nodes', () => kube.delete(node)],
    ['create pods/eviction', () => kube.evict(pod)],
    ['create pods/binding', () => kube.bind(pod, 'a')],
  ])('%s is refused, and told', async (asked, call) => {
    await expect(call()).rejects.toMatchObject({ code: 'denied' });
    expect(denied).toEqual([expect.stringContaining(`${asked} `)]);
  });

  test('a watch takes both of its verbs', () => {
    expect(() => kube.watch({ resource: nodes, project: () => 0 }, stage.stop.signal)).toThrow(
      'forbidden: list nodes',
    );
    kube.watch({ resource: pods, project: () => 0 }, stage.stop.signal);
    expect(used).toEqual(['list pods', 'watch pods']);
  });

  test('what the rights have passes, by its own name if they name it', async () => {
    expect(await kube.get(node)).toBeUndefined();
    expect(
      await kube.get({ resource: leases, name: 'mine', namespace: 'kube-system' }),
    ).toBeUndefined();
    expect([used, denied]).toEqual([['get nodes', 'get leases.coordination.k8s.io mine'], []]);
  });
});
