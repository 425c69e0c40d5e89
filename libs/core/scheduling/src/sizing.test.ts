import { describe, expect, test } from 'vitest';

import { assumedRequestsOf, defaultAssumedRequests } from './sizing.js';

describe('the amounts that a pod without requests counts as', () => {
  test.each([
    ['twice', 'cpu=1,cpu=2'],
    ['of another resource', 'nvidia.com/gpu=1'],
    ['below zero', 'memory=-1'],
    ['without a value', 'cpu'],
    ['with two values', 'cpu=1=2'],
    ['that are no quantity', 'cpu=much'],
    ['left blank', ''],
    ['that no cluster has', 'cpu=1e400'],
  ])('are refused %s: %j', (_, text) => expect(assumedRequestsOf(text)).toBeUndefined());
  test.each([
    [defaultAssumedRequests, { cpu: 25, memory: 250 * 1024 ** 2 }],
    ['memory=1Gi', { memory: 1024 ** 3 }],
    ['none', {}],
  ])('%j are %j', (text, amounts) => expect(assumedRequestsOf(text)).toEqual(amounts));
});
