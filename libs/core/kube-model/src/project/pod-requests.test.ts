import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { podRequests } from './pod-requests.js';
import { parsed, type Raw } from './raw.js';

fc.configureGlobal({ seed: 1 });

const container = (cpu: string, more: object = {}): object => ({
  name: 'c',
  resources: { requests: { cpu } },
  ...more,
});
const cpuOf = (pod: object): number | undefined => podRequests(pod as Raw)['cpu'];
const read = (spec: object): unknown => parsed(() => podRequests({ spec }));

describe('the CPU that kube-scheduler counts', () => {
  test.each([
    ['containers add up', { containers: [container('100m'), container('200m')] }, 300],
    [
      'an init container counts where it is larger',
      { containers: [container('100m')], initContainers: [container('500m')] },
      500,
    ],
    [
      'init containers do not add up',
      { containers: [container('100m')], initContainers: [container('300m'), container('200m')] },
      300,
    ],
    [
      'a sidecar adds to the containers',
      {
        containers: [container('100m')],
        initContainers: [container('50m', { restartPolicy: 'Always' })],
      },
      150,
    ],
    [
      'an init container runs beside earlier sidecars',
      {
        containers: [container('100m')],
        initContainers: [container('50m', { restartPolicy: 'Always' }), container('400m')],
      },
      450,
    ],
    [
      'an init container does not run beside later sidecars',
      {
        containers: [container('100m')],
        initContainers: [container('400m'), container('50m', { restartPolicy: 'Always' })],
      },
      400,
    ],
    ['overhead is added', { containers: [container('100m')], overhead: { cpu: '10m' } }, 110],
    [
      'overhead is added to the init peak too',
      {
        containers: [container('100m')],
        initContainers: [container('1')],
        overhead: { cpu: '10m' },
      },
      1010,
    ],
    [
      'pod-level requests replace the sum',
      { containers: [container('100m')], resources: { requests: { cpu: '1' } } },
      1000,
    ],
    [
      'a pod-level limit is the request when no container asks',
      { containers: [{ name: 'c' }], resources: { limits: { cpu: '2' } } },
      2000,
    ],
    [
      'a pod-level limit does not replace what containers ask',
      { containers: [container('100m')], resources: { limits: { cpu: '2' } } },
      100,
    ],
    [
      'a limit without a request is the request',
      { containers: [{ name: 'c', resources: { limits: { cpu: '1' } } }] },
      1000,
    ],
    ['nothing asked is nothing', { containers: [{ name: 'c' }] }, undefined],
  ])('%s', (_name, spec, cpu) => expect(cpuOf({ spec })).toBe(cpu));

  const resized = (status: object): object => ({ spec: { containers: [container('2')] }, status });
  test.each([
    [
      'a resize down is not granted yet',
      { containerStatuses: [{ name: 'c', resources: { requests: { cpu: '3' } } }] },
      3000,
    ],
    [
      'allocated resources count',
      {
        containerStatuses: [
          { name: 'c', resources: { requests: { cpu: '1' } }, allocatedResources: { cpu: '4' } },
        ],
      },
      4000,
    ],
    [
      'a resize up counts at once',
      { containerStatuses: [{ name: 'c', resources: { requests: { cpu: '1' } } }] },
      2000,
    ],
    [
      'an infeasible resize does not count',
      {
        conditions: [{ type: 'PodResizePending', reason: 'Infeasible' }],
        containerStatuses: [{ name: 'c', resources: { requests: { cpu: '1' } } }],
      },
      1000,
    ],
  ])('in-place resize: %s', (_name, status, cpu) => expect(cpuOf(resized(status))).toBe(cpu));
});

test('one pod is always counted', () => expect(podRequests({})).toEqual({ pods: 1 }));

test('a null is 0, as the API server reads it', () =>
  expect(podRequests({ containers: [{ resources: { requests: { cpu: null } } }] })).toEqual({
    pods: 1,
  }));

describe('the laws of requests', () => {
  const amounts = fc.array(fc.nat({ max: 4000 }), { maxLength: 4 });
  const pods = (
    containers: readonly number[],
    inits: readonly number[],
    sidecars: readonly number[],
  ): object => ({
    spec: {
      containers: containers.map((millis) => container(`${String(millis)}m`)),
      initContainers: [
        ...sidecars.map((millis) => container(`${String(millis)}m`, { restartPolicy: 'Always' })),
        ...inits.map((millis) => container(`${String(millis)}m`)),
      ],
    },
  });
  const sum = (all: readonly number[]): number => all.reduce((a, b) => a + b, 0);

  test('sidecars run beside containers and init containers, which run one after the other', () =>
    fc.assert(
      fc.property(amounts, amounts, amounts, (containers, inits, sidecars) => {
        expect(cpuOf(pods(containers, inits, sidecars)) ?? 0).toBe(
          sum(sidecars) + Math.max(sum(containers), 0, ...inits),
        );
      }),
    ));

  test('overhead comes on top of everything', () =>
    fc.assert(
      fc.property(amounts, fc.nat({ max: 1000 }), (containers, overhead) => {
        const { spec } = pods(containers, [], []) as { spec: object };
        const withOverhead = { spec: { ...spec, overhead: { cpu: `${String(overhead)}m` } } };
        expect(cpuOf(withOverhead) ?? 0).toBe(sum(containers) + overhead);
      }),
    ));

  test('pod-level requests replace the sum', () =>
    fc.assert(
      fc.property(amounts, fc.nat({ max: 9000 }), (containers, level) => {
        const { spec } = pods(containers, [], []) as { spec: object };
        const leveled = {
          spec: { ...spec, resources: { requests: { cpu: `${String(level)}m` } } },
        };
        expect(cpuOf(leveled)).toBe(level);
      }),
    ));
});

const requesting = (requests: unknown): object => ({ containers: [{ resources: { requests } }] });
const requests = 'spec.containers[0].resources.requests';

describe('what the API server refuses is refused with field and value', () => {
  test.each<[string, object, string, string]>([
    ['a request that is no quantity', requesting({ cpu: 'lots' }), `${requests}.cpu`, '"lots"'],
    ['a request below zero', requesting({ memory: '-1Gi' }), `${requests}.memory`, '"-1Gi"'],
    ['a request that is no number', requesting({ cpu: NaN }), `${requests}.cpu`, 'NaN'],
    ['requests that are a text', requesting('abc'), requests, '"abc"'],
    ['requests that are a list', requesting([1, 2]), requests, '[1,2]'],
    [
      'resources that are a list',
      { containers: [{ resources: [1] }] },
      'spec.containers[0].resources',
      '[1]',
    ],
    ['containers that are a text', { containers: 'none' }, 'spec.containers', '"none"'],
    [
      'a limit that is no quantity',
      { containers: [{ resources: { limits: { cpu: 'x' } } }] },
      'spec.containers[0].resources.limits.cpu',
      '"x"',
    ],
    [
      'the request of an init container',
      { initContainers: [container('x')] },
      'spec.initContainers[0].resources.requests.cpu',
      '"x"',
    ],
    ['an overhead', { overhead: { memory: 'x' } }, 'spec.overhead.memory', '"x"'],
    ['an overhead below zero', { overhead: { cpu: -1 } }, 'spec.overhead.cpu', '-1'],
    [
      'a request of the whole pod',
      { resources: { requests: { cpu: 'x' } } },
      'spec.resources.requests.cpu',
      '"x"',
    ],
  ])('%s', (_name, spec, field, value) =>
    expect(read(spec)).toMatchObject({ ok: false, field, value }),
  );
});
