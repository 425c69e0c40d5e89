import { expect, test } from 'vitest';

import { nearest } from './nearest.js';

const kinds = ['Pod', 'Node', 'Deployment', 'DaemonSet', 'NodePool', 'NodeClaim'];

test.each<[string, string | undefined]>([
  ['Deploymnt', 'Deployment'],
  ['Deplyoment', 'Deployment'],
  ['deployment', 'Deployment'],
  ['NodePol', 'NodePool'],
  ['DaemonSets', 'DaemonSet'],
  ['Nodd', 'Node'],
  ['Nope', 'Node'],
  ['Role', undefined],
  ['Service', undefined],
  ['ConfigMap', undefined],
  ['', undefined],
  ['Deployment'.repeat(1_000), undefined],
])('%s is near to %s', (word, wanted) => expect(nearest(word, kinds)).toBe(wanted));
