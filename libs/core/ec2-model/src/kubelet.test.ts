import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  kubeletProblems,
  parsePercent,
  reservationOf,
  thresholdBytes,
  unsupportedKubelet,
} from './kubelet.js';

fc.configureGlobal({ seed: 1 });

describe('kubelet settings', () => {
  test.each([
    [{ kubeReserved: { cpu: 'lots' } }, 'spec.kubelet.kubeReserved.cpu'],
    [{ systemReserved: { gpu: '1' } }, 'spec.kubelet.systemReserved.gpu'],
    [
      { evictionHard: { 'memory.available': '120%' } },
      'spec.kubelet.evictionHard["memory.available"]',
    ],
    [{ evictionSoft: { 'swap.available': '5%' } }, 'spec.kubelet.evictionSoft["swap.available"]'],
    [{ maxPods: -1 }, 'spec.kubelet.maxPods'],
    [
      { evictionSoftGracePeriod: { 'memory.available': 'soon' } },
      'spec.kubelet.evictionSoftGracePeriod["memory.available"]',
    ],
    [
      { others: { evictionMinimumReclaim: { 'memory.available': 5 } } },
      'spec.kubelet.evictionMinimumReclaim["memory.available"]',
    ],
  ])('%j is refused by name', (kubelet, field) =>
    expect(kubeletProblems(kubelet).map((problem) => problem.field)).toEqual([field]),
  );

  test('have a problem for each field, in the order of the fields', () =>
    expect(
      kubeletProblems({
        podsPerCore: 0.5,
        kubeReserved: { memory: '-1Gi', cpu: 'x' },
        evictionHard: { 'nodefs.available': '5 %' },
      }).map(({ field }) => field),
    ).toEqual([
      'spec.kubelet.kubeReserved.cpu',
      'spec.kubelet.kubeReserved.memory',
      'spec.kubelet.evictionHard["nodefs.available"]',
      'spec.kubelet.podsPerCore',
    ]));

  test('that are absent are no problem', () => expect(kubeletProblems({})).toEqual([]));
});

test.each([
  ['101%', undefined],
  ['-1%', undefined],
  ['5', undefined],
  ['%', undefined],
  ['5 %', undefined],
  ['0%', 0],
  ['7.5%', 7.5],
  ['100%', 100],
])('%s is the percentage %p', (text, percent) => expect(parsePercent(text)).toBe(percent));

test.each([
  ['10%', 1001, 101],
  ['0%', 1000, 0],
  ['100%', 1000, 0],
  ['100Mi', 1000, 100 * 1024 ** 2],
])('the threshold %s of %i bytes keeps %i', (text, capacity, kept) =>
  expect(thresholdBytes(text, capacity)).toBe(kept),
);

test('a reservation that is no quantity throws: it is never guessed', () => {
  expect(reservationOf()).toEqual({});
  expect(reservationOf({ cpu: '100m', memory: '1Gi' })).toEqual({ cpu: 100, memory: 1024 ** 3 });
  expect(() => reservationOf({ memory: 'lots' })).toThrow(RangeError);
  expect(() => thresholdBytes('lots', 1000)).toThrow('check it with kubeletProblems first');
});

test('a larger share of a capacity keeps no less, and no share keeps more than all', () =>
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 99 }),
      fc.integer({ min: 0, max: 99 }),
      fc.nat({ max: 2 ** 40 }),
      (a, b, capacity) => {
        const kept = (percent: number): number => thresholdBytes(`${String(percent)}%`, capacity);
        expect(kept(Math.max(a, b))).toBeGreaterThanOrEqual(kept(Math.min(a, b)));
        expect(kept(a)).toBeLessThanOrEqual(capacity);
      },
    ),
  ));

test('a text is a percentage exactly when it is a number from 0 to 100 and a percent sign', () =>
  fc.assert(
    fc.property(fc.nat({ max: 200 }), (number) => {
      expect(parsePercent(`${String(number)}%`)).toBe(number <= 100 ? number : undefined);
      expect(parsePercent(String(number))).toBeUndefined();
    }),
  ));

const dns = ['10.0.0.10', '10.0.0.11'];
const logs = { containerLogMaxSize: '50Mi' };

test.each([
  ['AL2023', { others: logs, clusterDNS: dns, podsPerCore: 4 }, []],
  ['Custom', { others: logs, clusterDNS: dns, podsPerCore: 4 }, []],
  ['AL2', { others: logs, podsPerCore: 4 }, ['spec.kubelet.containerLogMaxSize']],
  ['AL2', { clusterDNS: dns.slice(1), maxPods: 20 }, []],
  ['Windows2022', { clusterDNS: dns }, ['spec.kubelet.clusterDNS']],
  [
    'Bottlerocket',
    { others: logs, podsPerCore: 4 },
    ['spec.kubelet.containerLogMaxSize', 'spec.kubelet.podsPerCore'],
  ],
] as const)('nodes of %s with %j lack %j', (amiFamily, kubelet, fields) =>
  expect(unsupportedKubelet({ amiFamily, kubelet }).map(({ field }) => field)).toEqual(fields),
);
