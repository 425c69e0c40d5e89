import { describe, expect, test } from 'vitest';

import { daemonSetOf, podOf } from './pod.js';
import { metadata, podWith, valueOf } from './testing/objects.js';

describe('a pod', () => {
  test("that says nothing has the API server's defaults", () =>
    expect(podWith({})).toEqual({
      uid: 'u-1',
      namespace: 'team',
      name: 'one',
      resourceVersion: '7',
      labels: { app: 'web' },
      annotations: {},
      createdMs: Date.parse('2026-01-01T00:00:00Z'),
      phase: 'Pending',
      ready: false,
      unschedulable: false,
      mirror: false,
      priority: 0,
      schedulerName: 'default-scheduler',
      schedulingGates: [],
      schedulingGroup: false,
      requests: { pods: 1 },
      nodeSelector: {},
      preferredNodeAffinity: [],
      tolerations: [],
      topologySpread: [],
      requiredPodAffinity: [],
      preferredPodAffinity: [],
      requiredPodAntiAffinity: [],
      preferredPodAntiAffinity: [],
      hostPorts: [],
      volumes: [],
      resourceClaims: [],
      terminationGracePeriodSeconds: 30,
    }));
  test('keeps only the annotations that are read', () =>
    expect(
      valueOf(
        podOf({
          metadata: {
            ...metadata,
            annotations: {
              'karpenter.sh/do-not-disrupt': 'true',
              'karpenter.sh/disruption-cost': '5',
              'kubernetes.io/config.mirror': 'x',
              other: 'y',
            },
          },
        }),
      ),
    ).toMatchObject({
      annotations: { 'karpenter.sh/do-not-disrupt': 'true', 'karpenter.sh/disruption-cost': '5' },
      mirror: true,
    }));
  test('may forbid disruption by the older annotation', () =>
    expect(
      valueOf(
        podOf({ metadata: { ...metadata, annotations: { 'karpenter.sh/do-not-evict': 'true' } } }),
      ).annotations,
    ).toEqual({ 'karpenter.sh/do-not-disrupt': 'true' }));
  test('is owned by its controller, not by other owners', () =>
    expect(
      valueOf(
        podOf({
          metadata: {
            ...metadata,
            ownerReferences: [
              { apiVersion: 'v1', kind: 'Thing', name: 'a', uid: '1' },
              { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'b', uid: '2', controller: true },
            ],
          },
        }),
      ).owner,
    ).toEqual({ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'b', uid: '2' }));
  test('is unschedulable only for the reason Unschedulable', () => {
    const conditions = (reason: string): object => ({
      status: { conditions: [{ type: 'PodScheduled', status: 'False', reason }] },
    });
    expect(podWith({}, conditions('Unschedulable')).unschedulable).toBe(true);
    expect(podWith({}, conditions('SchedulingGated')).unschedulable).toBe(false);
  });
  test.each([
    [
      { containers: [{ ports: [{ containerPort: 80, hostPort: 8080 }] }] },
      [{ ip: '0.0.0.0', port: 8080, protocol: 'TCP' }],
    ],
    [{ containers: [{ ports: [{ containerPort: 80 }] }] }, []],
    [
      { hostNetwork: true, containers: [{ ports: [{ containerPort: 53, protocol: 'UDP' }] }] },
      [{ ip: '0.0.0.0', port: 53, protocol: 'UDP' }],
    ],
    [
      {
        initContainers: [
          { ports: [{ containerPort: 1, hostPort: 1 }] },
          {
            restartPolicy: 'Always',
            ports: [{ containerPort: 2, hostPort: 2, hostIP: '10.0.0.1' }],
          },
        ],
      },
      [{ ip: '10.0.0.1', port: 2, protocol: 'TCP' }],
    ],
  ])('host ports of %j', (spec, ports) => expect(podWith(spec).hostPorts).toEqual(ports));
  test('volumes are the claims it mounts; ephemeral ones are named after pod and volume', () =>
    expect(
      podWith({
        volumes: [
          { name: 'a', persistentVolumeClaim: { claimName: 'data' } },
          { name: 'tmp', emptyDir: {} },
          {
            name: 'scratch',
            ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'gp3' } } },
          },
        ],
      }).volumes,
    ).toEqual([
      { claimName: 'data' },
      { claimName: 'one-scratch', ephemeral: { storageClassName: 'gp3' } },
    ]));
  test.each([
    [
      { containers: [{ name: 'c', resources: { requests: { memory: '1Gib' } } }] },
      'spec.containers[0].resources.requests.memory',
      '"1Gib"',
    ],
    [{ nodeSelector: { gpu: true } }, 'spec.nodeSelector.gpu', 'true'],
    [
      { topologySpreadConstraints: [{ topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }] },
      'spec.topologySpreadConstraints[0].maxSkew',
      '(absent)',
    ],
    [
      {
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Has' }] }],
            },
          },
        },
      },
      'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator',
      '"Has"',
    ],
    [{ tolerations: {} }, 'spec.tolerations', '{}'],
  ])('%j names %s', (spec, field, shown) =>
    expect(podOf({ metadata, spec })).toMatchObject({
      ok: false,
      field,
      value: shown,
      remedy: expect.any(String),
    }),
  );
});

describe('a daemonset', () => {
  const daemon = (spec: object): object => ({
    metadata,
    spec: { template: { metadata: { labels: { app: 'agent' } }, spec } },
  });
  test('is its template as a pod with its own identity and what its controller tolerates', () => {
    const { template } = valueOf(
      daemonSetOf(daemon({ containers: [{ name: 'c', resources: { limits: { cpu: '100m' } } }] })),
    );
    expect(template).toMatchObject({
      uid: 'u-1',
      name: 'one',
      labels: { app: 'agent' },
      requests: { cpu: 100, pods: 1 },
      owner: { kind: 'DaemonSet', uid: 'u-1' },
    });
    expect(template.tolerations).toContainEqual({
      key: 'node.kubernetes.io/unschedulable',
      operator: 'Exists',
      effect: 'NoSchedule',
    });
  });
  test('names a bad field with its whole path and value', () =>
    expect(daemonSetOf(daemon({ hostNetwork: 'yes', containers: [] }))).toMatchObject({
      ok: false,
      field: 'spec.template.spec.hostNetwork',
      value: '"yes"',
    }));
});
