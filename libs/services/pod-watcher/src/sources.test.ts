import { kubeResources } from '@dovetail/core-ports';
import { expect, test } from 'vitest';

import { sourcesFor } from './sources.js';

test('the feed has the annotations of a claim that planning reads, and not its launch intent', () => {
  const source = sourcesFor({ major: 1, minor: 36 }).find(
    ({ resource }) => resource === kubeResources.nodeClaims,
  );
  const read = source?.project({
    metadata: {
      name: 'c',
      uid: 'u',
      resourceVersion: '1',
      labels: { 'karpenter.sh/nodepool': 'default' },
      annotations: {
        foo: 'bar',
        'dovetail.sh/admission': '1.2/plan/bin-0',
        'dovetail.sh/launch-intent': 'id {"members":[]}',
      },
    },
    spec: {
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      requirements: [],
    },
  });
  expect(read).toMatchObject({ ok: true });
  const [state] = read?.ok === true ? read.states : [];
  expect(state?.kind === 'claim' && state.value.annotations).toEqual({
    'dovetail.sh/admission': '1.2/plan/bin-0',
  });
});

test('pods that are equal in a part have it once in memory', () => {
  const source = sourcesFor({ major: 1, minor: 36 }).find(
    ({ resource }) => resource === kubeResources.pods,
  );
  const labelsOf = (name: string) => {
    const read = source?.project({
      metadata: { name, uid: name, resourceVersion: '1', labels: { app: 'web' } },
      spec: { nodeName: 'n' },
    });
    const [state] = read?.ok === true ? read.states : [];
    return state?.kind === 'pod' ? state.value.labels : undefined;
  };
  const first = labelsOf('a');
  expect(first).toEqual({ app: 'web' });
  expect(labelsOf('b')).toBe(first);
});
