import { expect, test } from 'vitest';

import { nodePool, simulate, template, workload } from './testing/manifests.js';

const autoscaler = (spec: object, apiVersion = 'autoscaling/v2', name = 'web'): object => ({
  apiVersion,
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'scaler' },
  spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name }, ...spec },
});
const said = (pods: number): string =>
  `note: Deployment web counts as ${pods} pods, because HorizontalPodAutoscaler scaler scales it\n`;

test.each<[string, object, object, number, string]>([
  ['no replicas', {}, { minReplicas: 5, maxReplicas: 9 }, 5, said(5)],
  [
    'fewer replicas than the least',
    { replicas: 2 },
    { minReplicas: 5, maxReplicas: 9 },
    5,
    said(5),
  ],
  ['more replicas than the most', { replicas: 12 }, { minReplicas: 5, maxReplicas: 9 }, 9, said(9)],
  ['replicas in between', { replicas: 7 }, { minReplicas: 5, maxReplicas: 9 }, 7, ''],
  ['no least number', {}, { maxReplicas: 9 }, 1, ''],
  [
    'none on purpose',
    { replicas: 0 },
    { minReplicas: 5, maxReplicas: 9 },
    0,
    'note: no pod waits, and no workload asks for one: there is nothing to plan\n',
  ],
])(
  'a Deployment with %s has as many pods as its autoscaler allows',
  async (_name, spec, scale, pods, notes) => {
    const scaled = workload('Deployment', { ...spec, template: template('100m') });
    for (const apiVersion of ['autoscaling/v1', 'autoscaling/v2']) {
      const ran = await simulate([nodePool(), scaled, autoscaler(scale, apiVersion) as never]);
      expect([ran.result.stats.pods, ran.err]).toEqual([pods, notes]);
    }
  },
);

test('an autoscaler of another workload changes nothing', async () => {
  const scaled = workload('Deployment', { template: template('100m') });
  const other = autoscaler({ minReplicas: 5, maxReplicas: 9 }, 'autoscaling/v2', 'other');
  expect((await simulate([nodePool(), scaled, other as never])).result.stats.pods).toBe(1);
});

test('an autoscaler that cannot be read is told with its field', async () => {
  const scaled = workload('Deployment', { template: template('100m') });
  const ran = await simulate([nodePool(), scaled, autoscaler({ minReplicas: 'five' }) as never]);
  expect(ran.code).toBe(4);
  expect(ran.err).toContain('spec.minReplicas: "five"');
});
