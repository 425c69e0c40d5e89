import { expect, test } from 'vitest';

import type { NodeClass } from '../node-class.js';
import { classHash, hashed } from './class-hash.js';
import { ec2NodeClassOf } from './ec2-node-class.js';
import { ec2, valueOf } from './testing/manifests.js';

const base = hashed(valueOf(ec2NodeClassOf(ec2())));

test.each<[string, Partial<NodeClass>]>([
  ['its name', { ref: { ...base.ref, name: 'other' } }],
  ['its status', { status: { subnets: [], securityGroups: [], amis: [] } }],
  ['its readiness', { ready: !base.ready }],
  ['the subnets it selects', { subnetSelectorTerms: [{ id: 'subnet-9' }] }],
  ['the images it selects', { amiSelectorTerms: [{ id: 'ami-9' }] }],
])('a change of %s is no drift', (_name, change) =>
  expect(classHash({ ...base, ...change })).toBe(base.hash),
);

test.each<[string, Partial<NodeClass>]>([
  ['its family', { amiFamily: 'Bottlerocket' }],
  ['its user data', { userData: 'echo' }],
  ['its tags', { tags: { a: 'b' } }],
  ['its kubelet settings', { kubelet: { maxPods: 7 } }],
  ['its monitoring', { detailedMonitoring: true }],
])('a change of %s is drift', (_name, change) =>
  expect(classHash({ ...base, ...change })).not.toBe(base.hash),
);

test('a legacy class carries the hash of its own content', () => {
  const { hash, ...content } = base;
  expect(hashed(content)).toEqual({ ...content, hash });
});
