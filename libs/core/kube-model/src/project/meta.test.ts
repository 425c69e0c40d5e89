import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  csiNodeOf,
  daemonSetOf,
  namespaceOf,
  nodeOf,
  pdbOf,
  podOf,
  pvcOf,
  pvOf,
  storageClassOf,
  volumeAttachmentOf,
} from '../index.js';
import { managedAnnotations, readMeta, readObject, readResources } from './meta.js';
import { Malformed, type Parsed } from './raw.js';
import { metadata } from './testing/objects.js';

fc.configureGlobal({ seed: 1 });

const parsers = {
  podOf,
  daemonSetOf,
  nodeOf,
  pdbOf,
  namespaceOf,
  pvOf,
  pvcOf,
  storageClassOf,
  csiNodeOf,
  volumeAttachmentOf,
};
describe.each(Object.entries(parsers))('%s', (_name, parse: (raw: unknown) => Parsed<unknown>) => {
  test('answers a value or a named field for any JSON', () => {
    fc.assert(fc.property(fc.jsonValue(), (raw) => typeof parse(raw).ok === 'boolean'));
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom(
            'conditions',
            'nodeSelector',
            'affinity',
            'tolerations',
            'containers',
            'volumes',
            'nodeName',
          ),
          fc.jsonValue(),
        ),
        (part) => typeof parse({ metadata, spec: part, status: part }).ok === 'boolean',
      ),
    );
  });
  test('wants a UID and a name', () => {
    expect(parse({ metadata: { name: 'one' }, spec: {} })).toMatchObject({
      ok: false,
      field: 'metadata.uid',
      value: '(absent)',
    });
    expect(parse({ metadata: { uid: 'u' }, spec: {} })).toMatchObject({
      ok: false,
      field: 'metadata.name',
    });
  });
});

describe('metadata', () => {
  test.each<[string, object, string]>([
    ['an empty name', { name: '' }, 'metadata.name'],
    ['a name that is no text', { name: 7 }, 'metadata.name'],
    ['an empty UID', { uid: '' }, 'metadata.uid'],
    ['a generation that is no integer', { generation: '2' }, 'metadata.generation'],
    ['a time that is none', { deletionTimestamp: 'soon' }, 'metadata.deletionTimestamp'],
    ['labels that are no texts', { labels: { a: 1 } }, 'metadata.labels.a'],
    ['finalizers that are no list', { finalizers: 'x' }, 'metadata.finalizers'],
  ])('with %s is refused by field', (_name, change, field) => {
    const read = (): unknown => readMeta({ metadata: { ...metadata, ...change } });
    expect(read).toThrow(Malformed);
    expect(read).toThrow(`${field}: `);
  });

  test('of a manifest is that of the oldest object, in the namespace default', () =>
    expect(readMeta({ metadata: { name: 'one', uid: 'u' } })).toEqual({
      uid: 'u',
      name: 'one',
      namespace: 'default',
      resourceVersion: '',
      generation: 0,
      createdMs: 0,
      labels: {},
      annotations: {},
      finalizers: [],
    }));

  test.each([undefined, null, 'pod', 7, ['pod']])('is not looked for in %j', (raw) =>
    expect(() => readObject(raw)).toThrow('write a Kubernetes object here'),
  );
});

test('of annotations, only those of Karpenter and Dovetail are kept', () =>
  expect(
    managedAnnotations({
      'karpenter.sh/do-not-disrupt': 'true',
      'karpenter.k8s.aws/ec2nodeclass-hash': 'h',
      'dovetail.sh/promise': '{}',
      'kubernetes.io/x': 'y',
      'not-karpenter.sh/x': 'y',
    }),
  ).toEqual({
    'karpenter.sh/do-not-disrupt': 'true',
    'karpenter.k8s.aws/ec2nodeclass-hash': 'h',
    'dovetail.sh/promise': '{}',
  }));

test('a quantity that cannot be read names its own path', () => {
  expect(readResources(undefined, 'status.capacity')).toEqual({});
  expect(() => readResources({ memory: '4GB' }, 'status.capacity')).toThrow(
    'status.capacity.memory: write a Kubernetes quantity',
  );
});
