import { nodeClaimObject } from '@dovetail/core-api';

import { budgets, claim, classRef, type CrdCase, pool, requirement } from './crd-objects.js';

/** NodePools, good and bad. */
export const nodePoolCases: readonly CrdCase[] = [
  { name: 'the least pool', object: pool() },
  {
    name: 'a full pool',
    object: pool(
      {
        expireAfter: '336h',
        terminationGracePeriod: '24h',
        taints: [{ key: 'a.b/c', value: 'd', effect: 'NoSchedule' }],
        startupTaints: [{ key: 's', effect: 'NoExecute' }],
        requirements: [
          {
            key: 'karpenter.sh/capacity-type',
            operator: 'In',
            values: ['spot', 'on-demand'],
            minValues: 2,
          },
          { key: 'karpenter.k8s.aws/instance-generation', operator: 'Gt', values: ['4'] },
          { key: 'x', operator: 'Exists' },
        ],
      },
      {
        weight: 10,
        limits: { cpu: 1000, memory: '10Gi', nodes: 5 },
        disruption: {
          consolidationPolicy: 'Balanced',
          consolidateAfter: 'Never',
          budgets: [
            {
              nodes: '0',
              schedule: '0 9 * * mon-fri',
              duration: '8h',
              reasons: ['Empty', 'Unhealthy'],
            },
          ],
        },
      },
      { labels: { team: 'a' }, annotations: { 'a/b': 'c d' } },
    ),
  },
  { name: 'a static pool', object: pool({}, { replicas: 3, limits: { nodes: 5 } }) },
  { name: 'no class', object: pool({ nodeClassRef: undefined }), refused: /nodeClassRef/ },
  { name: 'no requirements', object: pool({ requirements: undefined }), refused: /requirements/ },
  {
    name: 'a class without a name',
    object: pool({ nodeClassRef: { ...classRef, name: '' } }),
    refused: /name may not be empty/,
  },
  {
    name: 'a group with a version',
    object: pool({ nodeClassRef: { ...classRef, group: 'karpenter.k8s.aws/v1' } }),
    refused: /group/,
  },
  {
    name: 'the pool label',
    object: pool({}, {}, { labels: { 'karpenter.sh/nodepool': 'x' } }),
    refused: /karpenter\.sh\/nodepool/,
  },
  {
    name: 'the hostname label',
    object: pool({}, {}, { labels: { 'kubernetes.io/hostname': 'x' } }),
    refused: /hostname/,
  },
  {
    name: 'a label of our domain',
    object: pool({}, {}, { labels: { 'karpenter.sh/custom': 'x' } }),
    refused: /label domain "karpenter\.sh"/,
  },
  {
    name: 'a label of a domain that ends like ours',
    object: pool({}, {}, { labels: { 'xkarpenter.sh/custom': 'x' } }),
    refused: /label domain "karpenter\.sh"/,
  },
  {
    name: 'an unknown label of AWS',
    object: pool({}, {}, { labels: { 'karpenter.k8s.aws/custom': 'x' } }),
    refused: /karpenter\.k8s\.aws/,
  },
  {
    name: 'a label value with a blank',
    object: pool({}, {}, { labels: { a: 'b c' } }),
    refused: /labels/,
  },
  {
    name: 'labels of Kubernetes',
    object: pool({}, {}, { labels: { 'kubernetes.io/custom': 'x', 'node.kubernetes.io/x': 'y' } }),
  },
  {
    name: 'a demand for a pool',
    object: pool(requirement('karpenter.sh/nodepool', 'In', ['x'])),
    refused: /karpenter\.sh\/nodepool/,
  },
  {
    name: 'a demand for a hostname',
    object: pool(requirement('kubernetes.io/hostname', 'In', ['x'])),
    refused: /hostname/,
  },
  {
    name: 'a demand for an unknown label of AWS',
    object: pool(requirement('karpenter.k8s.aws/instance-colour', 'Exists')),
    refused: /karpenter\.k8s\.aws/,
  },
  { name: 'a key that is no name', object: pool(requirement('a b', 'Exists')), refused: /key/ },
  {
    name: 'an unknown operator',
    object: pool(requirement('a', 'Like', ['x'])),
    refused: /operator/,
  },
  { name: 'In without values', object: pool(requirement('a', 'In')), refused: /must have a value/ },
  {
    name: 'In with an empty list',
    object: pool(requirement('a', 'In', [])),
    refused: /must have a value/,
  },
  { name: 'NotIn without values', object: pool(requirement('a', 'NotIn')) },
  { name: 'Gt of a text', object: pool(requirement('a', 'Gt', ['many'])), refused: /requirements/ },
  {
    name: 'Lt of a negative number',
    object: pool(requirement('a', 'Lt', ['-1'])),
    refused: /single positive integer/,
  },
  {
    name: 'Gte of two numbers',
    object: pool(requirement('a', 'Gte', ['1', '2'])),
    refused: /single positive integer/,
  },
  { name: 'Lte of one number', object: pool(requirement('a', 'Lte', ['7'])) },
  {
    name: 'fewer values than minValues',
    object: pool(requirement('a', 'In', ['x'], 2)),
    refused: /minValues/,
  },
  {
    name: 'minValues of 51',
    object: pool(requirement('a', 'Exists', undefined, 51)),
    refused: /minValues/,
  },
  { name: 'a taint without effect', object: pool({ taints: [{ key: 'a' }] }), refused: /effect/ },
  {
    name: 'a taint of an unknown effect',
    object: pool({ startupTaints: [{ key: 'a', effect: 'Never' }] }),
    refused: /effect/,
  },
  { name: 'expiry in days', object: pool({ expireAfter: '14d' }), refused: /expireAfter/ },
  { name: 'expiry never', object: pool({ expireAfter: 'Never' }) },
  {
    name: 'a grace period of Never',
    object: pool({ terminationGracePeriod: 'Never' }),
    refused: /terminationGracePeriod/,
  },
  { name: 'a weight of 0', object: pool({}, { weight: 0 }), refused: /weight/ },
  { name: 'a weight of 101', object: pool({}, { weight: 101 }), refused: /weight/ },
  {
    name: 'a limit that is no quantity',
    object: pool({}, { limits: { cpu: 'lots' } }),
    refused: /limits/,
  },
  {
    name: 'a static pool with a weight',
    object: pool({}, { replicas: 1, weight: 1 }),
    refused: /weight/,
  },
  {
    name: 'a static pool with a CPU limit',
    object: pool({}, { replicas: 1, limits: { cpu: 1 } }),
    refused: /limits\.nodes/,
  },
  { name: 'a budget above 100 %', object: pool({}, budgets({ nodes: '101%' })), refused: /nodes/ },
  {
    name: 'a window without a schedule',
    object: pool({}, budgets({ nodes: '1', duration: '1h' })),
    refused: /schedule/,
  },
  {
    name: 'a schedule without a window',
    object: pool({}, budgets({ nodes: '1', schedule: '@daily' })),
    refused: /schedule/,
  },
  {
    name: 'a window of seconds',
    object: pool({}, budgets({ nodes: '1', schedule: '@daily', duration: '30s' })),
    refused: /duration/,
  },
  {
    name: 'a schedule with a time zone',
    object: pool(
      {},
      budgets({ nodes: '1', schedule: 'CRON_TZ=Asia/Tokyo 0 9 * * *', duration: '1h' }),
    ),
    refused: /schedule/,
  },
  {
    name: 'a budget for expiry',
    object: pool({}, budgets({ nodes: '1', reasons: ['Expired'] })),
    refused: /reasons/,
  },
  {
    name: 'an unknown policy',
    object: pool({}, { disruption: { consolidationPolicy: 'Always' } }),
    refused: /consolidationPolicy/,
  },
];

/** NodeClaims, good and bad. */
export const nodeClaimCases: readonly CrdCase[] = [
  { name: 'the least claim', object: claim() },
  {
    name: 'a claim that names its pool',
    object: claim(requirement('karpenter.sh/nodepool', 'In', ['default'])),
  },
  {
    name: 'a claim of a legacy class',
    object: claim({
      nodeClassRef: { ...classRef, kind: 'InlineProvider' },
      ...requirement('karpenter.sh/provisioner-name', 'In', ['default']),
      resources: { requests: { cpu: '1500m', pods: '4' } },
      expireAfter: 'Never',
    }),
  },
  {
    name: 'a claim as Dovetail makes it, of 600 types',
    object: nodeClaimObject({
      name: 'case',
      pool: { kind: 'Provisioner', name: 'default' },
      poolUid: 'u-1',
      classRef: { group: 'karpenter.k8s.aws', kind: 'InlineProvider', name: 'default' },
      labels: { team: 'a' },
      annotations: {},
      taints: [{ key: 'a', effect: 'NoSchedule' }],
      startupTaints: [],
      requirements: [
        {
          key: 'node.kubernetes.io/instance-type',
          operator: 'In',
          values: Array.from({ length: 600 }, (_, index) => `type${index}.24xlarge`),
          minValues: 50,
        },
        { key: 'karpenter.k8s.aws/instance-generation', operator: 'Gte', values: ['3'] },
        { key: 'karpenter.sh/provisioner-name', operator: 'In', values: ['default'] },
      ],
      requests: { cpu: 1500, memory: 512e6, pods: 4 },
      terminationGracePeriodMs: 30_000,
    }),
  },
  {
    name: 'a claim for a hostname',
    object: claim(requirement('kubernetes.io/hostname', 'In', ['x'])),
    refused: /hostname/,
  },
  {
    name: 'a claim of another domain label',
    object: claim(requirement('karpenter.sh/other', 'Exists')),
    refused: /karpenter\.sh/,
  },
  {
    name: 'a claim that asks for no quantity',
    object: claim({ resources: { requests: { cpu: 'x' } } }),
    refused: /requests/,
  },
];
