import type { NodeClaim, Pool } from '@dovetail/core-api';
import { claimValue, poolValue } from '@dovetail/core-api/testing';
import type { Node, Pod, PodDisruptionBudget } from '@dovetail/core-kube-model';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';

import type { NodeView } from '../facts/view.js';

export const nowMs = Date.UTC(2026, 10, 21, 12);

/** A running, ready pod of a replica set on node `n1`. */
export const pod = (name: string, more: Partial<Pod> = {}): Pod =>
  podValue(`uid-${name}`, {
    name,
    labels: { app: name },
    createdMs: nowMs - 3_600_000,
    startMs: nowMs - 3_600_000,
    phase: 'Running',
    ready: true,
    unschedulable: false,
    nodeName: 'n1',
    owner: { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: 'rs' },
    requests: { cpu: 1000, memory: 1_000, pods: 1 },
    ...more,
  });

/** A running, ready pod of a daemonset on node `n1`. */
export const daemon = (name: string, more: Partial<Pod> = {}): Pod =>
  pod(name, {
    owner: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'ds', uid: 'ds' },
    ...more,
  });

/** A claim of an hour ago whose node `n1` is initialized. */
export const claim = (name: string, more: Partial<NodeClaim> = {}): NodeClaim =>
  claimValue(name, {
    uid: `uid-${name}`,
    createdMs: nowMs - 3_600_000,
    finalizers: ['karpenter.sh/termination'],
    labels: {},
    nodeName: 'n1',
    providerId: `aws:///a/i-0${name.length}`,
    conditions: [
      {
        type: 'Initialized',
        status: 'True',
        reason: '',
        message: '',
        lastTransitionMs: nowMs - 3_000_000,
      },
    ],
    ...more,
  });

/** A ready node of an hour ago that ends through Dovetail. */
export const node = (name: string, more: Partial<Node> = {}): Node =>
  nodeValue(name, {
    uid: `uid-${name}`,
    createdMs: nowMs - 3_600_000,
    finalizers: ['karpenter.sh/termination'],
    capacity: { cpu: 4000, memory: 16_000, pods: 10 },
    allocatable: { cpu: 4000, memory: 16_000, pods: 10 },
    ...more,
  });

/** The pool `default`, whose nodes end half a minute after their last pod. */
export const pool = (more: Partial<Pool> = {}): Pool =>
  poolValue('default', {
    uid: 'uid-pool',
    hash: '',
    disruption: { policy: 'WhenEmpty', consolidateAfterMs: 30_000, budgets: [] },
    ...more,
  });

export const view = (more: Partial<NodeView> = {}): NodeView => ({
  claim: claim('c1'),
  node: node('n1'),
  pods: [],
  pool: pool(),
  ...more,
});

export const pdb = (
  name: string,
  disruptionsAllowed: number,
  more: Partial<PodDisruptionBudget> = {},
): PodDisruptionBudget => ({
  uid: `uid-${name}`,
  namespace: 'default',
  name,
  resourceVersion: '1',
  unhealthyPodEvictionPolicy: 'IfHealthyBudget',
  disruptionsAllowed,
  ...more,
});
