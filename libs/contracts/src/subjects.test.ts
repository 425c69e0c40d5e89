import fc from 'fast-check';
import { expect, test } from 'vitest';

import { headersFor } from './headers.js';
import { limits } from './limits.js';
import { decisionKinds, stateKinds } from './messages.js';
import { nameOfToken, streamName, streamSpecs, subjects, subjectToken } from './subjects.js';

test.each([
  ['m5.large', 'm5%2Elarge'],
  ['a b', 'a%20b'],
  ['*', '%2A'],
  ['>', '%3E'],
  ['6f0e3c1a-9d', '6f0e3c1a-9d'],
  ['NodePool/default', 'NodePool%2Fdefault'],
])('the name %j is the token %s', (name, token) => expect(subjectToken(name)).toBe(token));

test('a token is one token without wildcards, and stands for its name only', () =>
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), (name) => {
      const token = subjectToken(name);
      expect(token).toMatch(/^[A-Za-z0-9_%-]+$/);
      expect(nameOfToken(token)).toBe(name);
    }),
  ));

test.each([
  [subjects.state('lab', 'pod', 'u-1'), 'dovetail.lab.state.v1.pod.u-1'],
  [subjects.pending('lab', 'all'), 'dovetail.lab.pending.v1.all'],
  [subjects.plan('lab', 'all'), 'dovetail.lab.plan.v1.all'],
  [subjects.classCatalog('lab', 'c', 2), 'dovetail.lab.catalog.v1.class.c.2'],
  [
    subjects.unavailable('lab', {
      instanceType: 'm5.large',
      zone: 'us-east-1a',
      capacityType: 'spot',
    }),
    'dovetail.lab.catalog.v1.unavailable.m5%2Elarge%2Fus-east-1a%2Fspot',
  ],
  [
    subjects.decision('lab', 'launch', { kind: 'NodePool', name: 'default' }),
    'dovetail.lab.decision.v1.launch.default',
  ],
  [
    subjects.decision('lab', 'launch', { kind: 'Provisioner', name: 'default' }),
    'dovetail.lab.decision.v1.launch.provisioner~default',
  ],
  [subjects.decision('lab', 'unschedulable'), 'dovetail.lab.decision.v1.unschedulable.-'],
  [subjects.planner('lab', 'explain'), 'dovetail.lab.planner.v1.explain'],
  [subjects.blobPart('lab', 'x', 0), 'dovetail.lab.blob.v1.x.0'],
  [streamName('lab', 'state'), 'DOVETAIL_STATE_lab'],
])('%s', (subject, expected) => expect(subject).toBe(expected));

test('every subject belongs to exactly one stream', () => {
  const all = [
    ...stateKinds.map((kind) => subjects.state('c', kind, 'u')),
    ...decisionKinds.map((kind) => subjects.decision('c', kind)),
    subjects.pending('c', 'g'),
    subjects.plan('c', 'g'),
    subjects.classCatalog('c', 'u', 0),
    subjects.blobPart('c', 'i', 1),
  ];
  const covers = (filter: string, subject: string): boolean =>
    subject.startsWith(filter.replace('>', ''));
  for (const subject of all)
    expect(
      streamSpecs('c').filter((spec) => spec.subjects.some((filter) => covers(filter, subject))),
    ).toHaveLength(1);
});

test('a stream forgets message ids no later than its messages', () => {
  for (const spec of streamSpecs('c'))
    expect(spec.duplicateWindowMs).toBeLessThanOrEqual(spec.maxAgeMs ?? Infinity);
  expect(limits.blobAgeMs).toBeGreaterThan(limits.workAgeMs);
});

test('headers are CloudEvents', () => {
  expect(
    headersFor({
      id: 'pod/ü 1',
      source: { cluster: 'lab', service: 'pod-watcher' },
      type: 'StateRecord',
      subject: 'Pod/default/web 1',
      timeMs: 0,
    }),
  ).toEqual({
    'ce-specversion': '1.0',
    'ce-id': 'pod/%C3%BC%201',
    'ce-source': '/dovetail/lab/pod-watcher',
    'ce-type': 'dovetail.v1.StateRecord',
    'ce-time': '1970-01-01T00:00:00.000Z',
    'ce-subject': 'Pod/default/web%201',
    'ce-datacontenttype': 'application/protobuf',
    'content-type': 'application/protobuf',
  });
});
