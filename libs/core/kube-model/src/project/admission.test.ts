import { describe, expect, test } from 'vitest';

import { admittedSpec, withAdmittedTemplate } from './admission.js';
import { daemonSetOf, podOf } from './pod.js';

type Limits = Readonly<Record<string, Readonly<Record<string, string>> | string>>;

const objects = (...ranges: readonly (readonly Limits[])[]) => ({
  limitRanges: (namespace: string) =>
    namespace === 'team' ? ranges.map((limits) => ({ spec: { limits } })) : [],
  runtimeClass: (name: string) =>
    name === 'vm'
      ? {
          overhead: { podFixed: { cpu: '250m' } },
          scheduling: { nodeSelector: { vm: 'yes' }, tolerations: [{ key: 'vm' }] },
        }
      : undefined,
});
const container = (item: Omit<Limits, 'type'>): Limits => ({ ...item, type: 'Container' });
const specOf = (resources: object): Record<string, unknown> => ({
  containers: [{ name: 'a', resources }],
});

/** The milli-CPUs that a pod asks for once it is admitted. */
const cpuOf = (resources: object, ...ranges: readonly (readonly Limits[])[]): unknown => {
  const read = podOf({
    metadata: { name: 'p', namespace: 'team', uid: 'p' },
    spec: admittedSpec(specOf(resources), 'team', objects(...ranges)),
  });
  return read.ok ? (read.value.requests['cpu'] ?? 0) : read;
};

describe('the request of a container in a namespace with LimitRanges', () => {
  test.each<[string, object, readonly (readonly Limits[])[], number]>([
    [
      'is its own',
      { requests: { cpu: '1' } },
      [[container({ defaultRequest: { cpu: '2' } })]],
      1_000,
    ],
    ['is its own limit', { limits: { cpu: '1' } }, [[container({ default: { cpu: '2' } })]], 1_000],
    [
      'is the default request',
      {},
      [[container({ defaultRequest: { cpu: '500m' }, default: { cpu: '2' } })]],
      500,
    ],
    [
      'is the default limit if there is no default request',
      {},
      [[container({ default: { cpu: '2' } })]],
      2_000,
    ],
    ['is the maximum if there is no default', {}, [[container({ max: { cpu: '4' } })]], 4_000],
    ['is the minimum if there is nothing else', {}, [[container({ min: { cpu: '100m' } })]], 100],
    [
      'is that of the first LimitRange',
      {},
      [
        [container({ defaultRequest: { cpu: '1' } })],
        [container({ defaultRequest: { cpu: '2' } })],
      ],
      1_000,
    ],
    ['is nothing if only pods are limited', {}, [[{ type: 'Pod', max: { cpu: '4' } }]], 0],
    ['is nothing without LimitRanges', {}, [], 0],
  ])('%s', (_what, resources, ranges, cpu) => expect(cpuOf(resources, ...ranges)).toBe(cpu));
});

test('LimitRanges count in their own namespace only', () => {
  const spec = specOf({});
  const all = objects([container({ default: { cpu: '2' } })]);
  expect(admittedSpec(spec, 'other', all)).toEqual(spec);
  expect(admittedSpec(spec, '', all)).toEqual(spec);
});

test('a RuntimeClass adds its overhead, selector and tolerations', () => {
  const spec = { ...specOf({}), runtimeClassName: 'vm', nodeSelector: { disk: 'ssd' } };
  expect(admittedSpec(spec, 'team', objects())).toMatchObject({
    overhead: { cpu: '250m' },
    nodeSelector: { disk: 'ssd', vm: 'yes' },
    tolerations: [{ key: 'vm' }],
  });
  expect(admittedSpec({ ...spec, runtimeClassName: 'unknown' }, 'team', objects())).toEqual({
    ...spec,
    runtimeClassName: 'unknown',
  });
});

test('a daemonset is read as its pods will be', () => {
  const daemonSet = {
    metadata: { name: 'agent', namespace: 'team', uid: 'd' },
    spec: { template: { metadata: { labels: { app: 'agent' } }, spec: specOf({}) } },
  };
  const read = daemonSetOf(
    withAdmittedTemplate(daemonSet, objects([container({ default: { cpu: '2' } })])),
  );
  expect(read.ok && read.value.template.requests['cpu']).toBe(2_000);
});

test.each([[{}], [{ spec: 'x' }], [{ spec: { template: { spec: 'x' } } }]])(
  'what is no workload stays as it is: %j',
  (object) => expect(withAdmittedTemplate(object, objects())).toEqual(object),
);
