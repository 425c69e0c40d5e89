import { describe, expect, test } from 'vitest';

import { claim, nowMs } from '../testing/objects.js';
import { type OwnershipFacts, ownershipOf } from './ownership.js';

const original = claim('original', { createdMs: nowMs - 3_600_000 });
const copy = claim('copy', { createdMs: nowMs });
const facts = { instanceId: 'i-1', clusterUid: 'us', rivals: [] };
const uid = (value: string) => ({ 'dovetail.sh/cluster-uid': value });
const named = (value: string) => ({ 'karpenter.sh/nodeclaim': value });

describe('the instance that a claim names', () => {
  test.each<[string, Pick<OwnershipFacts, 'claim'> & Partial<OwnershipFacts>, string]>([
    [
      "carries another cluster's UID: stays",
      { claim: original, tags: uid('them') },
      'instance-of-another-cluster',
    ],
    [
      'is named by an older claim: stays with it',
      { claim: copy, rivals: [original], tags: uid('us') },
      'instance-of-another-claim',
    ],
    [
      'is named by an older claim and EC2 does not show it: stays with it',
      { claim: copy, rivals: [original] },
      'instance-of-another-claim',
    ],
    [
      'carries the name of a younger claim: stays with that',
      { claim: original, rivals: [copy], tags: named('copy') },
      'instance-of-another-claim',
    ],
    ['is its own by UID', { claim: original, tags: uid('us') }, 'own'],
    ['carries no tag of ours: is its own', { claim: original, tags: {} }, 'own'],
    ['is not shown by EC2: is its own', { claim: original }, 'own'],
    [
      'carries the name of a claim that is gone: is its own',
      { claim: copy, tags: named('original') },
      'own',
    ],
    ['is named by a younger claim too: is its own', { claim: original, rivals: [copy] }, 'own'],
  ])('%s', (_what, more, expected) => {
    const ownership = ownershipOf({ ...facts, ...more });
    expect(ownership.kind === 'own' ? 'own' : ownership.note.code).toBe(expected);
  });
});
