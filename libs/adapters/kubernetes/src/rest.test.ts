import { kubeResources } from '@dovetail/core-ports';
import { describe, expect, test } from '@jest/globals';

import { codeOf, pathOf } from './rest.js';

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
  ] as const)('%i with %j means %s', (status, body, code) =>
    expect(codeOf(status, body)).toBe(code),
  );
});
