import { describe, expect, test } from 'vitest';

import { eventName, isoSeconds, type KubeEvent, kubeEventObject } from './kube-event.js';

const event: KubeEvent = {
  about: { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' },
  type: 'Normal',
  reason: 'Drained',
  message: 'All pods are gone',
};
const as = {
  name: 'n.1',
  component: 'dovetail-reaper',
  atMs: Date.UTC(2026, 10, 22, 1, 2, 3, 999),
};

describe('an Event', () => {
  test('is written as the API takes it', () => {
    expect(kubeEventObject(event, as)).toEqual({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: 'n.1', namespace: 'default' },
      involvedObject: event.about,
      type: 'Normal',
      reason: 'Drained',
      message: 'All pods are gone',
      source: { component: 'dovetail-reaper' },
      reportingComponent: 'dovetail-reaper',
      reportingInstance: '',
      firstTimestamp: '2026-11-22T01:02:03Z',
      lastTimestamp: '2026-11-22T01:02:03Z',
      count: 1,
    });
  });

  test('of a namespaced object lives in its namespace', () => {
    const about = { ...event.about, kind: 'Pod', namespace: 'web' };
    expect(kubeEventObject({ ...event, about }, as).metadata.namespace).toBe('web');
  });

  test('has a message and a name of lengths that Kubernetes takes', () => {
    const long = kubeEventObject({ ...event, message: 'm '.repeat(1_000) }, as);
    expect(long.message).toHaveLength(1_024);
    expect(eventName({ name: 'n'.repeat(253) }, '0123456789abcdef')).toHaveLength(253);
  });
});

test('times are written in whole seconds', () => {
  expect(isoSeconds(1_999)).toBe('1970-01-01T00:00:01Z');
});
