import { lookUp } from '@dovetail/core-invariant';
import { recordOf } from '@dovetail/core-kube-model';

import { type FieldError, invalidValue, requiredValue } from '../model/errors.js';
import { equalJson, listOf, textOf } from '../model/json.js';
import type { StoredObject } from '../model/objects.js';
import type { Strategy, StrategyOf } from '../store/strategy.js';
import { autoscalerStrategy } from './autoscaler.js';
import { customDefinitionStrategy } from './custom-definition.js';
import { cronJobStrategy, jobStrategy } from './job.js';
import { limitRangeStrategy } from './limit-range.js';
import { podStrategy } from './pod.js';
import {
  daemonSetStrategy,
  deploymentStrategy,
  replicaSetStrategy,
  statefulSetStrategy,
} from './workload.js';

const filled = (object: StoredObject, field: string, defaults: object): StoredObject => ({
  ...object,
  [field]: { ...defaults, ...recordOf(lookUp(object, field)) },
});

const namespaceStrategy: Strategy = {
  names: 'label',
  defaults: (object) => ({
    ...object,
    metadata: {
      ...object.metadata,
      labels: { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name },
    },
  }),
  prepareCreate: (object) => ({
    ...object,
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  }),
  prepareUpdate: (object, before) => ({ ...object, spec: before['spec'] }),
};

const nodeStrategy: Strategy = {
  statusOnCreate: true,
  defaults: (object) => {
    const status = recordOf(object['status']);
    const allocatable = status['allocatable'] ?? status['capacity'];
    const nodeInfo = status['nodeInfo'];
    return {
      ...object,
      spec: recordOf(object['spec']),
      ...(object['status'] === undefined
        ? {}
        : {
            status: {
              ...status,
              ...(allocatable === undefined ? {} : { allocatable }),
              ...(nodeInfo === undefined ? {} : { nodeInfo }),
            },
          }),
    };
  },
  prepareCreate: (object, context) => {
    const spec = recordOf(object['spec']);
    const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
    return context.taintsNewNodes
      ? { ...object, spec: { ...spec, taints: [...listOf(spec['taints']), taint] } }
      : object;
  },
  validate: (object, before) => {
    const old = textOf(recordOf(before?.['spec'])['providerID']);
    const changed = old !== '' && textOf(recordOf(object['spec'])['providerID']) !== old;
    const ofTaints = listOf(recordOf(object['spec'])['taints']).flatMap(
      (taint, index): readonly FieldError[] =>
        textOf(recordOf(taint)['effect']) === ''
          ? [requiredValue(`spec.taints[${index}].effect`)]
          : [],
    );
    return changed
      ? [
          ...ofTaints,
          {
            type: 'FieldValueForbidden',
            field: 'spec.providerID',
            message: 'Forbidden: node updates may not change providerID except from "" to valid',
          },
        ]
      : ofTaints;
  },
};

const budgetStrategy: Strategy = {
  validate: (object) => {
    const spec = recordOf(object['spec']);
    if (spec['minAvailable'] !== undefined && spec['maxUnavailable'] !== undefined)
      return [invalidValue('spec', spec, 'minAvailable and maxUnavailable cannot be both set')];
    return [];
  },
};

const claimStrategy: Strategy = {
  defaults: (object) => filled(object, 'spec', { volumeMode: 'Filesystem' }),
  prepareCreate: (object) => ({ ...object, status: { phase: 'Pending' } }),
};

const serviceStrategy: Strategy = {
  names: 'label',
  defaults: (object) => {
    const ports = listOf(recordOf(object['spec'])['ports']).map((port) => ({
      protocol: 'TCP',
      targetPort: recordOf(port)['port'],
      ...recordOf(port),
    }));
    const spec = filled(object, 'spec', {
      type: 'ClusterIP',
      sessionAffinity: 'None',
      internalTrafficPolicy: 'Cluster',
      ipFamilyPolicy: 'SingleStack',
    });
    return ports.length === 0 ? spec : { ...spec, spec: { ...recordOf(spec['spec']), ports } };
  },
  prepareCreate: (object) => ({ ...object, status: { loadBalancer: {} } }),
};

const storageClassStrategy: Strategy = {
  defaults: (object) => ({ reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate', ...object }),
  validate: (object, before) =>
    before !== undefined && !equalJson(object['parameters'], before['parameters'])
      ? [
          {
            type: 'FieldValueForbidden',
            field: 'parameters',
            message: 'Forbidden: updates to parameters are forbidden.',
          },
        ]
      : [],
};

const strategies: Readonly<Record<string, Strategy>> = {
  limitranges: limitRangeStrategy,
  pods: podStrategy,
  nodes: nodeStrategy,
  namespaces: namespaceStrategy,
  services: serviceStrategy,
  persistentvolumeclaims: claimStrategy,
  persistentvolumes: {
    defaults: (object) =>
      filled(object, 'spec', { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' }),
    prepareCreate: (object) => ({ ...object, status: { phase: 'Available' } }),
  },
  'deployments.apps': deploymentStrategy,
  'replicasets.apps': replicaSetStrategy,
  'statefulsets.apps': statefulSetStrategy,
  'daemonsets.apps': daemonSetStrategy,
  'jobs.batch': jobStrategy,
  'cronjobs.batch': cronJobStrategy,
  'horizontalpodautoscalers.autoscaling': autoscalerStrategy,
  'poddisruptionbudgets.policy': budgetStrategy,
  'ingresses.networking.k8s.io': {
    prepareCreate: (object) => ({ ...object, status: { loadBalancer: {} } }),
  },
  'storageclasses.storage.k8s.io': storageClassStrategy,
  'priorityclasses.scheduling.k8s.io': {
    defaults: (object) => ({ preemptionPolicy: 'PreemptLowerPriority', ...object }),
  },
  'customresourcedefinitions.apiextensions.k8s.io': customDefinitionStrategy,
  'roles.rbac.authorization.k8s.io': { names: 'path' },
  'rolebindings.rbac.authorization.k8s.io': { names: 'path' },
  'clusterroles.rbac.authorization.k8s.io': { names: 'path' },
  'clusterrolebindings.rbac.authorization.k8s.io': { names: 'path' },
};

const plain: Strategy = {};

/** The rules for writing this resource; none for kinds without rules of their own. */
export const strategyOf: StrategyOf = (type) => lookUp(strategies, type.table) ?? plain;
