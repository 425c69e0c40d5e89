import { annotations, renderPromise } from '@dovetail/core-api';
import { claimValue } from '@dovetail/core-api/testing';
import { renderRetirement } from '@dovetail/core-disruption';
import { nodeValue } from '@dovetail/core-kube-model/testing';
import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { ReaperCluster } from '../cluster/reaper-cluster.js';
import type { ReaperContext } from '../context.js';
import { cluster as stage, started } from '../testing/current-cluster.js';
import { endIfInVain } from './unused-replacements.js';

const { nodes, nodeClaims } = kubeResources;
const retired = {
  [annotations.retirement]: renderRetirement({ cause: 'underutilized', atMs: 1, planId: 'plan' }),
};

/** A claim that a command bought for a node that no watch shows as retired. */
async function bought(live: Readonly<Record<string, string>>) {
  await started();
  const node = await stage.kube.create(nodes, { metadata: { name: 'n1', annotations: live } });
  const nodeUid = node.metadata.uid ?? '';
  const promise = { podUids: [], admission: '1.1', replaces: { nodeName: 'n1', nodeUid } };
  const held = {
    [annotations.admission]: '1.1/plan/bin-0',
    [annotations.maxPricePerHour]: '0.06',
    [annotations.promise]: renderPromise(promise),
  };
  await stage.node('other', { claimAnnotations: held });
  const claim = stage.find(nodeClaims, 'claim-other') as KubeObject;
  const cluster = new ReaperCluster(() => stage.clock.nowMs(), 'replace');
  cluster.set('node', nodeValue('n1', { uid: nodeUid }));
  const seen = claimValue('claim-other', {
    uid: claim.metadata.uid ?? '',
    annotations: claim.metadata.annotations ?? {},
  });
  cluster.set('claim', seen);
  const { kube, log } = stage;
  return endIfInVain({ deps: { kube, log }, cluster } as unknown as ReaperContext, seen);
}

test.each([
  ['stays while that node is retired, though the watch does not show it yet', retired, false],
  ['ends when that node was given back', {}, true],
])('a claim that a command bought for a node %s', async (_what, live, ends) => {
  const again = await bought(live);
  const claim = stage.find(nodeClaims, 'claim-other');
  expect([again === undefined, claim?.metadata.deletionTimestamp !== undefined]).toEqual([
    ends,
    ends,
  ]);
});
