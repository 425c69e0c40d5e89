import type { FleetNode } from '@dovetail/core-fleet';
import { expect, test } from 'vitest';

import { pictureOf } from './picture.js';

const node = (change: Partial<FleetNode>): FleetNode => ({
  uid: 'a',
  node: 'a',
  claim: 'a',
  pool: 'NodePool/default',
  instanceType: 'm5.large',
  capacityType: 'spot',
  zone: 'us-west-2a',
  state: 'ready',
  cpu: { requested: 1_000, allocatable: 2_000 },
  memory: { requested: 1, allocatable: 4 },
  pods: 1,
  podsMax: 29,
  priceEstimated: false,
  priceMicrosPerHour: 40_000,
  createdMs: 0,
  next: { what: 'stays' },
  ...change,
});

test('a picture has a line for all nodes and one for each, full or not', () => {
  const full = { requested: 4_000, allocatable: 4_000 };
  const picture = pictureOf([
    node({ uid: 'b', instanceType: 'm5.xlarge', cpu: full, memory: full, pods: 12 }),
    node({}),
  ]);
  expect(picture.split('\n')).toEqual([
    '2 nodes · $0.0800/h · CPU 83 % · memory 100 %',
    '  m5.large       us-west-2a   spot       CPU █████░░░░░  50 %  memory ███░░░░░░░  25 %     1 pod  $0.0400/h',
    '  m5.xlarge      us-west-2a   spot       CPU ██████████ 100 %  memory ██████████ 100 %   12 pods  $0.0400/h',
  ]);
});

test('a picture of no node says so', () => {
  expect(pictureOf([])).toBe('0 nodes · $0.0000/h · CPU 0 % · memory 0 %');
});
