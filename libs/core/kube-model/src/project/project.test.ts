import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Parsed, Pod } from '../index.js';
import {
  csiNodeOf, daemonSetOf, namespaceOf, nodeOf, pdbOf, podOf, pvOf, pvcOf, storageClassOf, volumeAttachmentOf,
} from '../index.js';

fc.configureGlobal({ seed: 1 });

const metadata = { name: 'one', namespace: 'team', uid: 'u-1', resourceVersion: '7', labels: { app: 'web' }, creationTimestamp: '2026-01-01T00:00:00Z' };
const value = <T>(parsed: Parsed<T>): T => {
  if (!parsed.ok) throw new Error(`${parsed.field}: ${parsed.remedy}`);
  return parsed.value;
};
const pod = (spec: object, more: object = {}): Pod => value(podOf({ metadata, spec, ...more }));

const parsers = { podOf, daemonSetOf, nodeOf, pdbOf, namespaceOf, pvOf, pvcOf, storageClassOf, csiNodeOf, volumeAttachmentOf };
describe.each(Object.entries(parsers))('%s', (_name, parse: (raw: unknown) => Parsed<unknown>) => {
  test('answers a value or a named field for any JSON', () => {
    fc.assert(fc.property(fc.jsonValue(), (raw) => typeof parse(raw).ok === 'boolean'));
    fc.assert(fc.property(fc.dictionary(fc.constantFrom('conditions', 'nodeSelector', 'affinity', 'tolerations', 'containers', 'volumes', 'nodeName'), fc.jsonValue()), (part) =>
      typeof parse({ metadata, spec: part, status: part }).ok === 'boolean'));
  });
  test('wants a UID and a name', () => {
    expect(parse({ metadata: { name: 'one' }, spec: {} })).toMatchObject({ ok: false, field: 'metadata.uid', value: '(absent)' });
    expect(parse({ metadata: { uid: 'u' }, spec: {} })).toMatchObject({ ok: false, field: 'metadata.name' });
  });
});

describe('a pod', () => {
  test('that says nothing has the API server\'s defaults', () => expect(pod({})).toEqual({
    uid: 'u-1', namespace: 'team', name: 'one', resourceVersion: '7', labels: { app: 'web' }, annotations: {}, createdMs: Date.parse('2026-01-01T00:00:00Z'),
    phase: 'Pending', ready: false, unschedulable: false, mirror: false, priority: 0, schedulerName: 'default-scheduler', schedulingGates: [],
    schedulingGroup: false, requests: { pods: 1 }, nodeSelector: {}, preferredNodeAffinity: [], tolerations: [], topologySpread: [],
    requiredPodAffinity: [], preferredPodAffinity: [], requiredPodAntiAffinity: [], preferredPodAntiAffinity: [], hostPorts: [], volumes: [],
    resourceClaims: [], terminationGracePeriodSeconds: 30,
  }));
  test('keeps only the annotations that are read', () => expect(value(podOf({
    metadata: { ...metadata, annotations: { 'karpenter.sh/do-not-disrupt': 'true', 'kubernetes.io/config.mirror': 'x', other: 'y' } },
  }))).toMatchObject({ annotations: { 'karpenter.sh/do-not-disrupt': 'true' }, mirror: true }));
  test('may forbid disruption by the older annotation', () => expect(value(podOf({ metadata: { ...metadata, annotations: { 'karpenter.sh/do-not-evict': 'true' } } })).annotations)
    .toEqual({ 'karpenter.sh/do-not-disrupt': 'true' }));
  test('is owned by its controller, not by other owners', () => expect(value(podOf({ metadata: { ...metadata, ownerReferences: [
    { apiVersion: 'v1', kind: 'Thing', name: 'a', uid: '1' }, { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'b', uid: '2', controller: true },
  ] } })).owner).toEqual({ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'b', uid: '2' }));
  test('is unschedulable only for the reason Unschedulable', () => {
    const conditions = (reason: string): object => ({ status: { conditions: [{ type: 'PodScheduled', status: 'False', reason }] } });
    expect(pod({}, conditions('Unschedulable')).unschedulable).toBe(true);
    expect(pod({}, conditions('SchedulingGated')).unschedulable).toBe(false);
  });
  test('affinity terms that say nothing are left out: none left matches no node', () => expect(pod({ affinity: { nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{}] },
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: {} }],
  } } })).toMatchObject({ requiredNodeAffinity: [], preferredNodeAffinity: [] }));
  test('matchLabelKeys become requirements with its own values, once, and unknown keys are ignored', () => {
    const spread = (labelSelector: object): object => ({ topologySpreadConstraints: [{
      maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector, matchLabelKeys: ['app', 'missing'] }] });
    const wanted = [{ requirements: [{ key: 'app', operator: 'In', values: ['web'] }] }];
    expect(pod(spread({})).topologySpread.map((one) => one.selector)).toEqual(wanted);
    expect(pod(spread({ matchLabels: { app: 'web' } })).topologySpread.map((one) => one.selector)).toEqual(wanted);
  });
  test('mismatchLabelKeys exclude its own values', () => expect(pod({ affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [
    { topologyKey: 'zone', labelSelector: { matchLabels: { x: 'y' } }, mismatchLabelKeys: ['app'] }] } } }).requiredPodAntiAffinity).toEqual([
    { topologyKey: 'zone', namespaces: [], selector: { requirements: [{ key: 'x', operator: 'In', values: ['y'] }, { key: 'app', operator: 'NotIn', values: ['web'] }] } }]));
  test('an empty namespace selector stays: it means every namespace', () => expect(pod({ affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [
    { weight: 3, podAffinityTerm: { topologyKey: 'zone', namespaceSelector: {} } }] } } }).preferredPodAffinity).toEqual([
    { weight: 3, term: { topologyKey: 'zone', namespaces: [], namespaceSelector: { requirements: [] } } }]));
  test.each([
    [{ containers: [{ ports: [{ containerPort: 80, hostPort: 8080 }] }] }, [{ ip: '0.0.0.0', port: 8080, protocol: 'TCP' }]],
    [{ containers: [{ ports: [{ containerPort: 80 }] }] }, []],
    [{ hostNetwork: true, containers: [{ ports: [{ containerPort: 53, protocol: 'UDP' }] }] }, [{ ip: '0.0.0.0', port: 53, protocol: 'UDP' }]],
    [{ initContainers: [{ ports: [{ containerPort: 1, hostPort: 1 }] }, { restartPolicy: 'Always', ports: [{ containerPort: 2, hostPort: 2, hostIP: '10.0.0.1' }] }] }, [{ ip: '10.0.0.1', port: 2, protocol: 'TCP' }]],
  ])('host ports of %j', (spec, ports) => expect(pod(spec).hostPorts).toEqual(ports));
  test('volumes are the claims it mounts; ephemeral ones are named after pod and volume', () => expect(pod({ volumes: [
    { name: 'a', persistentVolumeClaim: { claimName: 'data' } }, { name: 'tmp', emptyDir: {} },
    { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'gp3' } } } }] }).volumes)
    .toEqual([{ claimName: 'data' }, { claimName: 'one-scratch', ephemeral: { storageClassName: 'gp3' } }]));
  test('a toleration without operator is Equal, and without effect matches all', () =>
    expect(pod({ tolerations: [{ key: 'k', value: 'v', effect: '' }] }).tolerations).toEqual([{ key: 'k', operator: 'Equal', value: 'v' }]));
  test.each([
    [{ containers: [{ name: 'c', resources: { requests: { memory: '1Gib' } } }] }, 'spec.containers[0].resources.requests.memory', '"1Gib"'],
    [{ nodeSelector: { gpu: true } }, 'spec.nodeSelector.gpu', 'true'],
    [{ topologySpreadConstraints: [{ topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }] }, 'spec.topologySpreadConstraints[0].maxSkew', '(absent)'],
    [{ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Has' }] }] } } } },
      'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator', '"Has"'],
    [{ tolerations: {} }, 'spec.tolerations', '{}'],
  ])('%j names %s', (spec, field, shown) => expect(podOf({ metadata, spec })).toMatchObject({ ok: false, field, value: shown, remedy: expect.any(String) }));
});

describe('a daemonset', () => {
  const daemon = (spec: object): object => ({ metadata, spec: { template: { metadata: { labels: { app: 'agent' } }, spec } } });
  test('is its template as a pod with its own identity and what its controller tolerates', () => {
    const { template } = value(daemonSetOf(daemon({ containers: [{ name: 'c', resources: { limits: { cpu: '100m' } } }] })));
    expect(template).toMatchObject({ uid: 'u-1', name: 'one', labels: { app: 'agent' }, requests: { cpu: 100, pods: 1 }, owner: { kind: 'DaemonSet', uid: 'u-1' } });
    expect(template.tolerations).toContainEqual({ key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' });
  });
  test('names a bad field with its whole path and value', () => expect(daemonSetOf(daemon({ hostNetwork: 'yes', containers: [] })))
    .toMatchObject({ ok: false, field: 'spec.template.spec.hostNetwork', value: '"yes"' }));
});

describe('a node', () => {
  test('is read with what planning needs', () => expect(value(nodeOf({
    metadata: { ...metadata, annotations: { 'karpenter.sh/nodepool-hash': '1', 'node.alpha.kubernetes.io/ttl': '0' }, finalizers: ['karpenter.sh/termination'] },
    spec: { providerID: 'aws:///us-east-1a/i-1', unschedulable: true, taints: [{ key: 'a', effect: 'NoSchedule' }] },
    status: { capacity: { cpu: '2' }, conditions: [{ type: 'Ready', status: 'True' }], addresses: [{ type: 'InternalIP', address: '10.0.0.1' }], nodeInfo: { kubeletVersion: 'v1.34.0' } },
  }))).toEqual({
    uid: 'u-1', name: 'one', resourceVersion: '7', labels: { app: 'web' }, annotations: { 'karpenter.sh/nodepool-hash': '1' }, createdMs: Date.parse('2026-01-01T00:00:00Z'),
    finalizers: ['karpenter.sh/termination'], providerId: 'aws:///us-east-1a/i-1', taints: [{ key: 'a', effect: 'NoSchedule' }], cordoned: true, ready: true,
    capacity: { cpu: 2000 }, allocatable: { cpu: 2000 }, internalIp: '10.0.0.1', kubeletVersion: 'v1.34.0',
  }));
  test('that has just joined has nothing yet', () => expect(value(nodeOf({ metadata }))).toMatchObject({ ready: false, capacity: {}, allocatable: {}, taints: [] }));
});

describe('a disruption budget', () => {
  test.each([[{ minAvailable: 1 }, '1', undefined], [{ maxUnavailable: '50%' }, undefined, '50%']])('%j', (spec, minimum, maximum) => {
    const budget = value(pdbOf({ metadata, spec: { ...spec, selector: {} }, status: { disruptionsAllowed: 2 } }));
    expect([budget.minAvailable, budget.maxUnavailable, budget.selector, budget.disruptionsAllowed]).toEqual([minimum, maximum, { requirements: [] }, 2]);
  });
  test('without a status allows no disruption', () => expect(value(pdbOf({ metadata, spec: {} })).disruptionsAllowed).toBe(0));
  test('that is neither count nor percentage is named', () => expect(pdbOf({ metadata, spec: { minAvailable: 'half' } })).toMatchObject({ ok: false, field: 'spec.minAvailable' }));
});

describe('volumes', () => {
  test('an in-tree EBS volume is bound to the zone of its label and served by the CSI driver', () => expect(value(pvOf({
    metadata: { ...metadata, labels: { 'topology.kubernetes.io/zone': 'us-east-1a__us-east-1b' } }, spec: { awsElasticBlockStore: { volumeID: 'v' } },
  }))).toMatchObject({ driver: 'ebs.csi.aws.com', local: false, nodeAffinity: [{ matchExpressions: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: ['us-east-1a', 'us-east-1b'] }] }] }));
  test('a local volume says so', () => expect(value(pvOf({ metadata, spec: { local: { path: '/x' } } })).local).toBe(true));
  test('a volume without affinity reaches everywhere', () => expect(value(pvOf({ metadata, spec: { csi: { driver: 'efs' } } })).nodeAffinity).toBeUndefined());
  test('no class is not the default class', () => {
    expect(value(pvcOf({ metadata, spec: { storageClassName: '' } })).storageClassName).toBe('');
    expect(value(pvcOf({ metadata, spec: {} })).storageClassName).toBeUndefined();
  });
  test('a claim is bound when its binding has completed', () => expect(value(pvcOf({
    metadata: { ...metadata, annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } }, spec: { volumeName: 'pv-1' }, status: { phase: 'Bound' },
  }))).toMatchObject({ bindCompleted: true, volumeName: 'pv-1', phase: 'Bound' }));
  test('a storage class has its alternatives and its CSI provisioner', () => expect(value(storageClassOf({
    metadata: { ...metadata, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } }, provisioner: 'kubernetes.io/aws-ebs', volumeBindingMode: 'WaitForFirstConsumer',
    allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: ['a'] }] }],
  }))).toMatchObject({ isDefault: true, provisioner: 'ebs.csi.aws.com', bindingMode: 'WaitForFirstConsumer', allowedTopologies: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }] }));
  test('a driver without a count has no limit', () => expect(value(csiNodeOf({ metadata, spec: { drivers: [{ name: 'a', allocatable: { count: 25 } }, { name: 'b' }] } })).limits).toEqual({ a: 25 }));
  test('an attachment names node and volume', () => expect(value(volumeAttachmentOf({ metadata, spec: { nodeName: 'n', source: { persistentVolumeName: 'pv' } } }))).toMatchObject({ nodeName: 'n', volumeName: 'pv' }));
});
