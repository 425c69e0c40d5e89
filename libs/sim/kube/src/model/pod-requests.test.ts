import { describe, expect, test } from 'vitest';

import type { ContainerSpec, PodSpecView } from './objects.js';
import { specRequests } from './pod-requests.js';

const uses = (cpu: string, sidecar = false): ContainerSpec => ({
  name: 'one',
  resources: { requests: { cpu } },
  ...(sidecar ? { restartPolicy: 'Always' } : {}),
});

describe("the CPU that the scheduler reserves for a pod, by Kubernetes' PodRequests", () => {
  test.each<[string, PodSpecView, number]>([
    ['containers add up', { containers: [uses('1'), uses('2')] }, 3000],
    [
      'a larger init container decides alone',
      { containers: [uses('1')], initContainers: [uses('4')] },
      4000,
    ],
    [
      'a smaller init container changes nothing',
      { containers: [uses('2')], initContainers: [uses('1')] },
      2000,
    ],
    [
      'a sidecar runs beside the containers',
      { containers: [uses('1')], initContainers: [uses('500m', true)] },
      1500,
    ],
    [
      'a sidecar runs beside the init containers after it',
      { containers: [uses('1')], initContainers: [uses('1', true), uses('3')] },
      4000,
    ],
    [
      'a sidecar does not run beside the init containers before it',
      { containers: [uses('1')], initContainers: [uses('3'), uses('1', true)] },
      3000,
    ],
    [
      'requests of the pod replace those of its containers',
      { containers: [uses('1')], resources: { requests: { cpu: '5' } } },
      5000,
    ],
    ['overhead comes on top', { containers: [uses('1')], overhead: { cpu: '250m' } }, 1250],
  ])('%s', (_sentence, spec, millis) => {
    expect(specRequests(spec)['cpu']).toBe(millis);
  });
});
