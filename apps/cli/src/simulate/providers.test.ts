import { expect, test } from 'vitest';

import { folderOf, pod, pool, resultOf, simulate } from './testing/simulating.js';

const foreign = (name: string): string =>
  pool()
    .replace('name: default}\nspec', `name: ${name}}\nspec`)
    .replace(
      '{group: karpenter.kwok.sh, kind: KWOKNodeClass',
      '{group: eks.amazonaws.com, kind: NodeClass',
    );
const ours = pool().replace(
  '{group: karpenter.kwok.sh, kind: KWOKNodeClass',
  '{group: karpenter.k8s.aws, kind: EC2NodeClass',
);
const claim = `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: theirs, labels: {karpenter.sh/nodepool: system}}
spec:
  nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: default}
`;

test('pools and claims of another provider beside ours are left out, with a note', async () => {
  const files = { 'all.yaml': [ours, foreign('system'), claim, pod('a', '1')].join('\n---\n') };
  for (const catalog of ['us-west-2', undefined]) {
    const ran = await simulate([folderOf(files)], catalog === undefined ? {} : { catalog });
    expect(ran.code).toBe(0);
    expect(resultOf(ran).newNodes.map((node) => node.nodePool)).toEqual(['default']);
    expect(ran.err).toContain(
      'note: NodePool system is of another provider (eks.amazonaws.com NodeClass): left out\n',
    );
    expect(ran.err).toContain('note: NodeClaim theirs is of another provider');
  }
});

test('a catalog file stands for the one provider whose pools are given', async () => {
  const files = { 'all.yaml': [pool(), foreign('system'), pod('a', '1')].join('\n---\n') };
  const ran = await simulate([folderOf(files)]);
  expect(resultOf(ran).newNodes.map((node) => node.nodePool)).toEqual(['default']);
  expect(ran.err).toContain('NodePool system is of another provider');
});
