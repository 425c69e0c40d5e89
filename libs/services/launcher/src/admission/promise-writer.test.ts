import { annotations, nodeClaimObject } from '@dovetail/core-api';
import { Cluster } from '@dovetail/core-cluster';
import { kubeResources } from '@dovetail/core-ports';
import { Stage } from '@dovetail/sim-stage';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { ClusterWriter } from '../cluster/cluster-writer.js';
import { claimFrom, nodeFrom } from '../cluster/readings.js';
import { planValue } from '../testing/values.js';
import type { AdmittedPlacement } from './judged.js';
import { PromiseWriter } from './promise-writer.js';

const { nodes, nodeClaims } = kubeResources;
const providerID = 'aws:///us-west-2a/i-0123456789abcdef0';
const taint = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };

let stage: Stage;
beforeEach(async () => {
  stage = await new Stage().begin();
});
afterEach(() => stage.end());

/** A node with its claim, as the launcher's watches showed them; what happens now they lag. */
async function shown() {
  const { kube, clock } = stage;
  const cluster = new Cluster();
  const node = await kube.create(nodes, { metadata: { name: 'n1' }, spec: { providerID } });
  const claim = await kube.create(nodeClaims, {
    ...nodeClaimObject({
      name: 'c1',
      pool: { kind: 'NodePool', name: 'default' },
      poolUid: 'pool',
      classRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      ...{ labels: {}, taints: [], startupTaints: [], requirements: [], requests: {} },
      annotations: {},
    }),
  });
  const status = { providerID, nodeName: 'n1' };
  const launched = await kube.patch(
    { resource: nodeClaims, name: 'c1' },
    { type: 'merge', body: { status } },
    { subresource: 'status' },
  );
  cluster.set('node', nodeFrom(node));
  cluster.set('claim', claimFrom(launched));
  const writer = new ClusterWriter({ kube, clock, cluster });
  const promises = new PromiseWriter(cluster, writer, () => clock.nowMs());
  const uids = { Node: node.metadata.uid ?? '', NodeClaim: claim.metadata.uid ?? '' };
  return { promises, uids };
}

const change = (body: object): Promise<unknown> =>
  stage.kube.patch({ resource: nodes, name: 'n1' }, { type: 'merge', body });

const promisedOn = async (kind: 'Node' | 'NodeClaim'): Promise<string | undefined> => {
  const ref = { resource: kind === 'Node' ? nodes : nodeClaims, name: names[kind] };
  return (await stage.kube.get(ref))?.metadata.annotations?.[annotations.promise];
};

const names = { Node: 'n1', NodeClaim: 'c1' } as const;

describe.each([
  ['Node', 'node-gone'],
  // Its finalizer keeps it for a while.
  ['NodeClaim', 'node-retiring'],
] as const)('a promise on a %s', (kind, goneCode) => {
  const placement = (uid: string): AdmittedPlacement => ({
    kind: 'placement',
    plan: planValue('plan'),
    binId: 'place-0',
    podUids: ['p1'],
    holder: { kind, name: names[kind], uid },
    placement: { nodeName: 'n1', nodeUid: 'u', podUids: ['p1'], topologyGroups: [] },
    promise: { podUids: ['p1'], admission: '1.1' },
  });

  test('is taken back if the reaper has tainted the node, which no watch shows yet', async () => {
    const { promises, uids } = await shown();
    await change({ spec: { taints: [taint] } });
    expect(await promises.give(placement(uids[kind]))).toMatchObject({ code: 'node-retiring' });
    expect(await promisedOn(kind)).toBeUndefined();
  });

  test('stands if somebody else has changed the node', async () => {
    const { promises, uids } = await shown();
    await change({ metadata: { labels: { team: 'a' } } });
    expect(await promises.give(placement(uids[kind]))).toBeUndefined();
    expect(await promisedOn(kind)).toContain('p1');
  });

  test('is refused if the object was deleted', async () => {
    const { promises, uids } = await shown();
    const resource = kind === 'Node' ? nodes : nodeClaims;
    await stage.kube.delete({ resource, name: names[kind] });
    expect(await promises.give(placement(uids[kind]))).toMatchObject({ code: goneCode });
  });
});
