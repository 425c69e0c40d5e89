import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { kubeResources, LeadershipLost } from '@dovetail/core-ports';
import { KubeConfig } from '@kubernetes/client-node';
import { describe, expect, test } from 'vitest';

import { AnswerDates } from './answer-dates.js';
import { codeOf, pathOf, restOver, type RestRequest } from './rest.js';

describe('the path of a request', () => {
  const { pods, nodes, nodeClaims } = kubeResources;
  test.each([
    ['all pods', pods, {}, '/api/v1/pods'],
    ['the pods of a namespace', pods, { namespace: 'web' }, '/api/v1/namespaces/web/pods'],
    ['one pod', pods, { namespace: 'web', name: 'web-1' }, '/api/v1/namespaces/web/pods/web-1'],
    [
      'a subresource',
      pods,
      { namespace: 'web', name: 'web-1', subresource: 'eviction' },
      '/api/v1/namespaces/web/pods/web-1/eviction',
    ],
    [
      'a node, whose kind has no namespaces',
      nodes,
      { namespace: 'web', name: 'a' },
      '/api/v1/nodes/a',
    ],
    ['a name with a slash', nodes, { name: 'a/b' }, '/api/v1/nodes/a%2Fb'],
    ['a custom resource', nodeClaims, { name: 'c' }, '/apis/karpenter.sh/v1/nodeclaims/c'],
  ])('names %s', (_what, resource, at, path) => expect(pathOf(resource, at)).toBe(path));
});

describe('an HTTP status', () => {
  test.each([
    [401, {}, 'denied'],
    [403, {}, 'denied'],
    [404, {}, 'no-such-resource'],
    [404, { reason: 'NotFound' }, 'not-found'],
    [404, { details: { name: 'web-1' } }, 'not-found'],
    [409, {}, 'conflict'],
    [409, { reason: 'AlreadyExists' }, 'already-exists'],
    [410, {}, 'gone'],
    [400, {}, 'invalid'],
    [422, {}, 'invalid'],
    [429, {}, 'too-many-requests'],
    [500, {}, 'unavailable'],
    [503, {}, 'unavailable'],
    [504, { message: 'Timeout: Too large resource version: 2, current: 1' }, 'gone'],
  ] as const)('%i with %j means %s', (status, body, code) =>
    expect(codeOf(status, body)).toBe(code),
  );
});

test('every answer, also a refusal, tells the clock of the server', async () => {
  const server = createServer((_request, response) => {
    response.setHeader('date', 'Thu, 01 Jan 2026 12:00:00 GMT').setHeader('connection', 'close');
    response.writeHead(404).end('{"reason":"NotFound"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const config = new KubeConfig();
  const cluster = { name: 'c', server: `http://127.0.0.1:${String(port)}`, skipTLSVerify: true };
  config.loadFromClusterAndUser(cluster, { name: 'u' });
  const wallMs = (): number => Date.UTC(2026, 0, 1, 11, 58);
  const dates = new AnswerDates({ wallMs, monotonicMs: () => 0 });
  const rest = restOver(config, { timeoutMs: 5_000, dates });
  await expect(rest.json({ method: 'GET', path: '/api/v1/nodes/a' })).rejects.toMatchObject({
    code: 'not-found',
  });
  expect(dates.aheadMs()).toBe(-120_000);
  await new Promise((resolve) => server.close(resolve));
});

describe('a process that lost its Lease while its requests waited for their turn', () => {
  const claim = '/apis/karpenter.sh/v1/nodeclaims/a';
  const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/dovetail-reaper';
  test.each<[string, RestRequest, boolean]>([
    ['writes nothing', { method: 'PATCH', path: claim }, false],
    ['deletes nothing', { method: 'DELETE', path: claim }, false],
    ['reads', { method: 'GET', path: claim }, true],
    ['asks for the Lease', { method: 'PUT', path: lease }, true],
    ['tells of it', { method: 'POST', path: '/api/v1/namespaces/default/events' }, true],
  ])('%s', async (_sentence, request, goes) => {
    const arrived: string[] = [];
    const server = createServer(({ method }, response) => {
      arrived.push(method ?? '');
      response.setHeader('connection', 'close').end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const config = new KubeConfig();
    const cluster = { name: 'c', server: `http://127.0.0.1:${String(port)}`, skipTLSVerify: true };
    config.loadFromClusterAndUser(cluster, { name: 'u' });
    let leads = true;
    const pace = { perSecond: 20, burst: 1 };
    const rest = restOver(config, { timeoutMs: 5_000, pace, mayWrite: () => leads });
    await rest.json({ method: 'PATCH', path: claim });
    const waiting = rest.json(request);
    leads = false;
    if (goes) await waiting;
    else await expect(waiting).rejects.toBeInstanceOf(LeadershipLost);
    expect(arrived).toEqual(['PATCH', ...(goes ? [request.method] : [])]);
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('a write that the server has no time for', () => {
  const node = '/api/v1/nodes/a';
  const pod = '/api/v1/namespaces/web/pods/web-1';
  const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/dovetail-reaper';
  test.each<[string, RestRequest, number]>([
    ['of a node comes again', { method: 'PATCH', path: node }, 3],
    ['of a status comes again', { method: 'PATCH', path: `${node}/status` }, 3],
    ['of a binding comes again', { method: 'POST', path: `${pod}/binding` }, 3],
    [
      'of an eviction is the caller’s: a budget may refuse it',
      { method: 'POST', path: `${pod}/eviction` },
      1,
    ],
    ['of a Lease does not come again', { method: 'PUT', path: lease }, 1],
    ['and a read does not come again', { method: 'GET', path: node }, 1],
  ])('%s', async (_what, request, tries) => {
    let arrived = 0;
    const server = createServer((_request, response) => {
      arrived += 1;
      response.setHeader('connection', 'close').setHeader('retry-after', '0');
      response.writeHead(arrived < 3 ? 429 : 200).end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const config = new KubeConfig();
    const cluster = { name: 'c', server: `http://127.0.0.1:${String(port)}`, skipTLSVerify: true };
    config.loadFromClusterAndUser(cluster, { name: 'u' });
    const answer = restOver(config, { timeoutMs: 5_000 }).json(request);
    if (tries > 1) await answer;
    else await expect(answer).rejects.toMatchObject({ code: 'too-many-requests' });
    expect(arrived).toBe(tries);
    await new Promise((resolve) => server.close(resolve));
  });
});

test('bindings take nothing from the pace of other requests, and are not held up by it', async () => {
  const arrived: string[] = [];
  const server = createServer(({ url }, response) => {
    arrived.push(url?.endsWith('/binding') === true ? 'binding' : 'other');
    response.setHeader('connection', 'close').end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const config = new KubeConfig();
  const cluster = { name: 'c', server: `http://127.0.0.1:${String(port)}`, skipTLSVerify: true };
  config.loadFromClusterAndUser(cluster, { name: 'u' });
  const none = { perSecond: 1e-9, burst: 1 };
  const rest = restOver(config, {
    timeoutMs: 5_000,
    pace: none,
    bindingPace: { perSecond: 1e-9, burst: 3 },
  });
  const bind = { method: 'POST', path: '/api/v1/namespaces/web/pods/web-1/binding' } as const;
  await Promise.all([bind, bind, bind].map((request) => rest.json(request)));
  await rest.json({ method: 'GET', path: '/api/v1/nodes/a' });
  expect(arrived.toSorted()).toEqual(['binding', 'binding', 'binding', 'other']);
  await new Promise((resolve) => server.close(resolve));
});
