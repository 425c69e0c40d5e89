import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import { type FieldError, invalidValue, requiredValue, unsupportedValue } from '../model/errors.js';
import { equalJson, textOf } from '../model/json.js';
import type { StoredObject } from '../model/objects.js';
import { selectorTest } from '../model/selectors.js';
import type { Strategy } from '../store/strategy.js';
import { podSpecErrors } from './pod.js';
import { templateDefaults } from './pod-defaults.js';

const withSpec = (object: StoredObject, defaults: Raw): StoredObject => {
  const spec = recordOf(object['spec']);
  return {
    ...object,
    spec: { ...defaults, ...spec, template: templateDefaults(spec['template']) },
  };
};

function selectorErrors(spec: Raw): readonly FieldError[] {
  const selector = spec['selector'];
  if (!isRecord(selector)) return [requiredValue('spec.selector')];
  const labels = recordOf(recordOf(spec['template'])['metadata'])['labels'] as
    Record<string, string> | undefined;
  if (Object.keys(selector).length === 0)
    return [invalidValue('spec.selector', {}, 'empty selector is invalid for deployment')];
  if (selectorTest(selector)(labels)) return [];
  return [
    invalidValue(
      'spec.template.metadata.labels',
      labels ?? {},
      '`selector` does not match template `labels`',
    ),
  ];
}

function workloadErrors(
  object: StoredObject,
  before: StoredObject | undefined,
): readonly FieldError[] {
  const spec = recordOf(object['spec']);
  const errors: FieldError[] = [...selectorErrors(spec)];
  if (Number(spec['replicas'] ?? 1) < 0)
    errors.push(
      invalidValue('spec.replicas', spec['replicas'], 'must be greater than or equal to 0'),
    );
  const template = recordOf(recordOf(spec['template'])['spec']);
  errors.push(...podSpecErrors('spec.template.spec', template));
  if (template['restartPolicy'] !== 'Always' && object.kind !== 'Job')
    errors.push(
      unsupportedValue('spec.template.spec.restartPolicy', template['restartPolicy'], ['Always']),
    );
  if (before !== undefined && !equalJson(recordOf(before['spec'])['selector'], spec['selector']))
    errors.push(invalidValue('spec.selector', spec['selector'], 'field is immutable'));
  return errors;
}

function rollingUpdate(strategy: Raw, defaults: Raw): Raw {
  const type = textOf(strategy['type']) || 'RollingUpdate';
  return type === 'RollingUpdate'
    ? { type, rollingUpdate: { ...defaults, ...recordOf(strategy['rollingUpdate']) } }
    : { ...strategy, type };
}

/** Deployments. */
export const deploymentStrategy: Strategy = {
  defaults: (object) => {
    const filled = withSpec(object, {
      replicas: 1,
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
    });
    const spec = recordOf(filled['spec']);
    return {
      ...filled,
      spec: {
        ...spec,
        strategy: rollingUpdate(recordOf(spec['strategy']), {
          maxUnavailable: '25%',
          maxSurge: '25%',
        }),
      },
    };
  },
  validate: workloadErrors,
};

/** ReplicaSets. */
export const replicaSetStrategy: Strategy = {
  defaults: (object) => withSpec(object, { replicas: 1 }),
  validate: workloadErrors,
};

/** StatefulSets. */
export const statefulSetStrategy: Strategy = {
  defaults: (object) => {
    const filled = withSpec(object, {
      replicas: 1,
      revisionHistoryLimit: 10,
      podManagementPolicy: 'OrderedReady',
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
    });
    const spec = recordOf(filled['spec']);
    return {
      ...filled,
      spec: {
        ...spec,
        updateStrategy: rollingUpdate(recordOf(spec['updateStrategy']), { partition: 0 }),
      },
    };
  },
  validate: workloadErrors,
};

/** DaemonSets. */
export const daemonSetStrategy: Strategy = {
  defaults: (object) => {
    const filled = withSpec(object, { revisionHistoryLimit: 10 });
    const spec = recordOf(filled['spec']);
    return {
      ...filled,
      spec: {
        ...spec,
        updateStrategy: rollingUpdate(recordOf(spec['updateStrategy']), {
          maxUnavailable: 1,
          maxSurge: 0,
        }),
      },
    };
  },
  validate: workloadErrors,
};
