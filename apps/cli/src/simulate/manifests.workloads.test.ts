import { describe, expect, test } from 'vitest';

import {
  type Manifest,
  nodePool,
  pod,
  podSpec,
  simulate,
  template,
  workload,
} from './testing/manifests.js';

describe('workloads', () => {
  test.each<[string, Manifest, number]>([
    [
      'ReplicationController',
      workload('ReplicationController', { replicas: 2, template: template('1') }, 'v1'),
      2,
    ],
    [
      'Job of more completions than run at once',
      workload('Job', { parallelism: 2, completions: 9, template: template('1') }, 'batch/v1'),
      2,
    ],
    [
      'suspended CronJob',
      workload(
        'CronJob',
        {
          suspend: true,
          schedule: '* * * * *',
          jobTemplate: { spec: { parallelism: 3, template: template('1') } },
        },
        'batch/v1',
      ),
      0,
    ],
  ])('%s', async (_, object, pods) =>
    expect((await simulate([nodePool(), object])).result.stats.pods).toBe(pods),
  );
  test('a DaemonSet that does not tolerate the pool takes no room', async () => {
    const pool = nodePool({
      template: {
        spec: {
          nodeClassRef: { group: 'karpenter.kwok.sh', kind: 'KWOKNodeClass', name: 'default' },
          requirements: [],
          taints: [{ key: 'x', effect: 'NoSchedule' }],
        },
      },
    });
    const { result } = await simulate([
      pool,
      workload('DaemonSet', { template: template('1') }),
      pod('a', '1500m', { tolerations: [{ key: 'x', operator: 'Exists' }] }),
    ]);
    expect(result.newNodes.map((node) => [node.instanceTypes[0], node.requests['cpu']])).toEqual([
      ['m5.2', '1500m'],
    ]);
  });
  test('init containers, sidecars and pod overhead count as the scheduler counts them', async () => {
    const heavy = podSpec('500m', {
      initContainers: [
        { name: 'i', image: 'i', resources: { requests: { cpu: '2' } } },
        {
          name: 's',
          image: 's',
          restartPolicy: 'Always',
          resources: { requests: { cpu: '250m' } },
        },
      ],
      overhead: { cpu: '100m' },
    });
    expect(
      (
        await simulate([
          nodePool(),
          { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: heavy },
        ])
      ).result.newNodes.map((node) => node.requests['cpu']),
    ).toEqual(['2100m']);
  });
});
