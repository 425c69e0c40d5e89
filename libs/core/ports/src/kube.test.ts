import { describe, expect, test } from 'vitest';

import { KubeError } from './kube.js';

const cause = new Error('socket hang up');

describe('an error of Kubernetes', () => {
  test('keeps its code, message and cause', () =>
    expect(new KubeError('conflict', 'it has moved on', { cause })).toMatchObject({
      name: 'KubeError',
      code: 'conflict',
      message: 'it has moved on',
      cause,
    }));

  test('names seconds to wait only when the API did', () => {
    expect(new KubeError('too-many-requests', 'later', { retryAfterSeconds: 3 })).toHaveProperty(
      'retryAfterSeconds',
      3,
    );
    expect(new KubeError('too-many-requests', 'later').retryAfterSeconds).toBeUndefined();
  });
});
