import { CoreV1Api, KubeConfig, Watch } from '@kubernetes/client-node';
import { afterEach, describe, expect, test } from 'vitest';

import {
  createKubeStore,
  createManualClock,
  type KubeStore,
  type ServedKube,
  serveKube,
} from '../index.js';
import { canonicalQuantity } from '../schema/canonical-quantity.js';
import { durationText } from './tables/column.js';
import { valuesAtPath } from './tables/json-path.js';

const open: ServedKube[] = [];
afterEach(async () => {
  for (const served of open.splice(0)) await served.close();
});

const serve = async () => {
  const store = createKubeStore({ clock: createManualClock(Date.UTC(2026, 0, 1)), seed: 1 });
  const served = await serveKube(store);
  open.push(served);
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${served.url}${path}`, init);
    const text = await response.text();
    return {
      status: response.status,
      body: text.startsWith('{')
        ? (JSON.parse(text.split('\n')[0] ?? '') as Record<string, unknown>)
        : text,
    };
  };
  return { store, served, ask };
};
const addPods = (store: KubeStore, count: number) => {
  for (let number = 0; number < count; number += 1) {
    store.create(store.type('', 'v1', 'pods'), {
      namespace: 'default',
      object: {
        metadata: { name: `p${number}` },
        spec: { containers: [{ name: 'main', image: 'pause' }] },
      },
    });
  }
};

describe('the API over HTTP', () => {
  test('wrong credentials are refused, none are not', async () => {
    const { ask, served } = await serve();
    expect(await ask('/api/v1/pods', { headers: { authorization: 'Bearer wrong' } })).toMatchObject(
      { status: 401, body: { reason: 'Unauthorized', code: 401 } },
    );
    expect(
      await ask('/api/v1/pods', { headers: { authorization: `Bearer ${served.token}` } }),
    ).toMatchObject({ status: 200 });
    expect(await ask('/api/v1/pods')).toMatchObject({ status: 200 });
  });

  test('an Ingress is kept as it was written, and shown with its class and hosts', async () => {
    const { ask } = await serve();
    const path = '/apis/networking.k8s.io/v1/namespaces/default/ingresses';
    const backend = { service: { name: 'game', port: { number: 80 } } };
    const http = { paths: [{ path: '/', pathType: 'Prefix', backend }] };
    const spec = { ingressClassName: 'alb', rules: [{ http }, { host: 'a.example', http }] };
    const metadata = { name: 'game' };
    const send = (sent: object) => ask(path, { method: 'POST', body: JSON.stringify(sent) });
    const ingress = { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata, spec };
    expect(await send(ingress)).toMatchObject({ status: 201, body: { spec } });
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    expect(await ask(path, { headers: { accept } })).toMatchObject({
      body: { rows: [{ cells: ['game', 'alb', 'a.example', '', '80', expect.any(String)] }] },
    });
  });

  test('a watch from a forgotten revision says 410 in its stream, and so does an old continue token', async () => {
    const { ask, store } = await serve();
    addPods(store, 3);
    const page = (await ask('/api/v1/pods?limit=2')).body as {
      metadata: { continue: string; remainingItemCount: number };
    };
    expect(page.metadata.remainingItemCount).toBe(1);
    addPods(createKubeStore({ clock: store.clock, seed: 2 }), 1);
    store.delete(store.type('', 'v1', 'pods'), { namespace: 'default', name: 'p0' });
    store.compact();
    expect(await ask('/api/v1/pods?watch=true&resourceVersion=2')).toMatchObject({
      status: 200,
      body: { type: 'ERROR', object: { code: 410, reason: 'Expired' } },
    });
    expect(await ask(`/api/v1/pods?limit=2&continue=${page.metadata.continue}`)).toMatchObject({
      status: 410,
      body: { reason: 'Expired' },
    });
    expect(await ask('/api/v1/pods?limit=2&continue=rubbish')).toMatchObject({ status: 400 });
    expect(await ask('/api/v1/pods?watch=true&resourceVersion=999999')).toMatchObject({
      body: { type: 'ERROR', object: { code: 410 } },
    });
  });

  test.each([
    [
      'a body that is no JSON',
      '/api/v1/namespaces/default/pods',
      { method: 'POST', body: '{' },
      400,
    ],
    [
      'a body that is no object',
      '/api/v1/namespaces/default/pods',
      { method: 'POST', body: '[]' },
      400,
    ],
    [
      'protobuf that is none',
      '/api/v1/namespaces/default/pods',
      {
        method: 'POST',
        body: 'k8s?',
        headers: { 'content-type': 'application/vnd.kubernetes.protobuf' },
      },
      400,
    ],
    [
      'a patch of no known type',
      '/api/v1/namespaces/default',
      { method: 'PATCH', body: '{}', headers: { 'content-type': 'text/plain' } },
      415,
    ],
    [
      'a method that there is not',
      '/api/v1/namespaces/default',
      { method: 'POST', body: '{}' },
      405,
    ],
    ['a path that there is not', '/apis/nothing/v1/things', {}, 404],
    ['a revision that is no number', '/api/v1/pods?watch=true&resourceVersion=x', {}, 200],
  ])('%s is answered with its code', async (_what, path, init, status) => {
    const { ask } = await serve();
    expect((await ask(path, init as RequestInit)).status).toBe(status);
  });

  test('@kubernetes/client-node lists and watches', async () => {
    const { served, store } = await serve();
    addPods(store, 2);
    const config = new KubeConfig();
    config.loadFromString(served.kubeconfig);
    const list = await config.makeApiClient(CoreV1Api).listNamespacedPod({ namespace: 'default' });
    expect(list.items.map((pod) => pod.metadata?.name)).toEqual(['p0', 'p1']);
    const seen = new Promise<string>((resolve) => {
      void new Watch(config)
        .watch(
          '/api/v1/pods',
          { resourceVersion: list.metadata?.resourceVersion },
          (type: string, pod: { metadata: { name: string } }) =>
            resolve(`${type} ${pod.metadata.name}`),
          () => undefined,
        )
        .then((request) => {
          store.delete(store.type('', 'v1', 'pods'), { namespace: 'default', name: 'p1' });
          return request;
        });
    });
    expect(await seen).toBe('DELETED p1');
  });

  test('its clock can be moved on', async () => {
    const { ask } = await serve();
    const before = (await ask('/twin/clock')).body as { nowMs: number };
    expect(
      (await ask('/twin/clock', { method: 'POST', body: '{"advanceMs":1800000}' })).body,
    ).toMatchObject({ nowMs: before.nowMs + 1_800_000 });
  });

  test('every served resource is in discovery and lists, as objects and as a table', async () => {
    const { ask, store } = await serve();
    for (const type of store.registry.all()) {
      const root = type.group === '' ? '/api/v1' : `/apis/${type.group}/${type.version}`;
      expect(JSON.stringify((await ask(root)).body)).toContain(`"name":"${type.plural}"`);
      expect(await ask(`${root}/${type.plural}`)).toMatchObject({
        status: 200,
        body: { kind: type.listKind },
      });
      expect(
        await ask(`${root}/${type.plural}`, {
          headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
        }),
      ).toMatchObject({ status: 200, body: { kind: 'Table' } });
    }
  });
});

test.each([
  ['1024Mi', '1Gi'],
  ['0.5', '500m'],
  ['1000', '1k'],
  ['1.5Gi', '1536Mi'],
  ['1e3', '1e3'],
  ['0', '0'],
  ['-2Ki', '-2Ki'],
  ['100m', '100m'],
  ['0.1Gi', '107374182400m'],
  ['1Xi', undefined],
  ['', undefined],
  ['.', undefined],
])('the quantity %s is written %s', (text, canonical) =>
  expect(canonicalQuantity(text)).toBe(canonical),
);

test.each([
  [5_000, '5s'],
  [119_000, '119s'],
  [125_000, '2m5s'],
  [600_000, '10m'],
  [4 * 3_600_000, '4h'],
  [30 * 3_600_000, '30h'],
  [3 * 86_400_000 + 3_600_000, '3d1h'],
  [400 * 86_400_000, '400d'],
])('an age of %i ms is shown as %s', (ms, text) => expect(durationText(ms)).toBe(text));

test.each([
  ['.metadata.labels.karpenter\\.sh/nodepool', ['p']],
  ['.status.conditions[?(@.type=="Ready")].status', ['True']],
  ['.list[*]', [1, 2]],
  ['.list[-1]', [2]],
  ['.nothing.here', []],
])('the path %s finds %j', (path, values) =>
  expect(
    valuesAtPath(
      {
        metadata: { labels: { 'karpenter.sh/nodepool': 'p' } },
        status: {
          conditions: [
            { type: 'Other', status: 'x' },
            { type: 'Ready', status: 'True' },
          ],
        },
        list: [1, 2],
      },
      path,
    ),
  ).toEqual(values),
);
