import { expect, test } from 'vitest';

import { type Manifest, nodePool, pod, simulate, template, workload } from './testing/manifests.js';

const node: Manifest = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n1', labels: {} },
  status: {
    allocatable: { cpu: '4', memory: '8Gi', pods: '10' },
    capacity: { cpu: '4', memory: '8Gi', pods: '10' },
    conditions: [{ type: 'Ready', status: 'True' }],
  },
};

type Owner = { readonly kind: string; readonly name: string; readonly uid: string };
const running = (name: string, owner: Owner, labels: object = {}): Manifest => ({
  ...pod(name, '100m', { nodeName: 'n1' }),
  metadata: { name, labels, ownerReferences: [{ apiVersion: 'x', controller: true, ...owner }] },
  status: { phase: 'Running' },
});
const deployment = (uid?: string): Manifest => ({
  ...workload('Deployment', { replicas: 1, template: template('100m') }),
  metadata: { name: 'web', ...(uid === undefined ? {} : { uid }) },
});
const hash = { 'pod-template-hash': '7c9f6d8b5' };
const set = { kind: 'ReplicaSet', name: 'web-7c9f6d8b5', uid: 'rs-1' };
const cron = workload(
  'CronJob',
  { schedule: '@daily', jobTemplate: { spec: { template: template('100m') } } },
  'batch/v1',
);
const stateful = workload('StatefulSet', { replicas: 1, template: template('100m') });

test.each<[string, readonly Manifest[], number]>([
  [
    "a Deployment, without its ReplicaSet's manifest",
    [deployment('d'), running('a', set, hash)],
    0,
  ],
  [
    "a repository's Deployment, which has no UID",
    [deployment(), running('a', { kind: 'Deployment', name: 'web', uid: 'd' })],
    0,
  ],
  [
    "a repository's StatefulSet",
    [stateful, running('web-0', { kind: 'StatefulSet', name: 'web', uid: 's' })],
    0,
  ],
  [
    'a CronJob, without the manifest of its Job',
    [cron, running('web-29000000-x', { kind: 'Job', name: 'web-29000000', uid: 'j' })],
    0,
  ],
  [
    'another Deployment, whose name begins alike',
    [deployment('d'), running('a', { ...set, name: 'web-api-7c9f6d8b5' }, hash)],
    1,
  ],
  ['a ReplicaSet that no Deployment made', [deployment('d'), running('a', set)], 1],
])('a running pod of %s leaves the right number to plan', async (_name, objects, planned) => {
  const ran = await simulate([nodePool(), node, ...objects]);
  expect([ran.code, ran.result.stats.pods]).toEqual([0, planned]);
});
