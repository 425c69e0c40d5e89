import type { NodeClaim, Pool } from '@dovetail/core-api';
import { claimValue, poolValue } from '@dovetail/core-api/testing';
import { expect, test } from 'vitest';

import { templateChange } from './template-changes.js';

const taint = (key: string) => ({ key, value: 'yes', effect: 'NoSchedule' }) as const;
const hour = 3_600_000;

test.each<[string, Partial<NodeClaim>, Partial<Pool>, string | undefined]>([
  ['nothing', {}, {}, undefined],
  [
    'a label',
    { labels: { team: 'blue', zone: 'a' } },
    { labels: { team: 'red', zone: 'a' } },
    'label team: blue, and red now',
  ],
  ['a label that is new', {}, { labels: { team: 'red' } }, 'label team: not set, and red now'],
  [
    'a label of the claim alone, which a pod may have asked for',
    { labels: { a: 'b' } },
    {},
    undefined,
  ],
  [
    'taints',
    { taints: [taint('a')] },
    { taints: [taint('b'), taint('a')] },
    'taints: a=yes:NoSchedule, and a=yes:NoSchedule, b=yes:NoSchedule now',
  ],
  [
    'the order of taints',
    { taints: [taint('a'), taint('b')] },
    { taints: [taint('b'), taint('a')] },
    undefined,
  ],
  ['the last taint', { taints: [taint('a')] }, {}, 'taints: a=yes:NoSchedule, and none now'],
  [
    'startup taints',
    {},
    { startupTaints: [taint('a')] },
    'startupTaints: none, and a=yes:NoSchedule now',
  ],
  ['the expiry', {}, { expireAfterMs: hour }, 'expireAfter: Never, and 1h now'],
  [
    'the grace period',
    { terminationGracePeriodMs: hour },
    {},
    'terminationGracePeriod: 1h, and not set now',
  ],
  [
    'the class',
    {},
    { classRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'other' } },
    'nodeClassRef: EC2NodeClass/default, and EC2NodeClass/other now',
  ],
])('of a template, %s is named', (_what, claim, pool, wanted) =>
  expect(templateChange(claimValue('c', claim), poolValue('default', pool))).toBe(wanted),
);
