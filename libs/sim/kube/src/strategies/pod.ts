import { lookUp } from '@dovetail/core-invariant';
import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import {
  duplicateValue,
  type FieldError,
  forbidden,
  forbiddenValue,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from '../model/errors.js';
import { equalJson, listOf, textOf } from '../model/json.js';
import { type Pod, type PodSpecView, type StoredObject } from '../model/objects.js';
import { amountsOf } from '../model/quantity.js';
import { labelErrors } from '../store/metadata.js';
import type { Strategy, StrategyContext } from '../store/strategy.js';
import { admitLimitRanges, limitedPodSpec } from './limit-range.js';
import { admittedPodSpec, podSpecDefaults, qosClass } from './pod-defaults.js';
import { admitQuota } from './quota.js';

function containerErrors(field: string, spec: Raw): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (textOf(spec['name']) === '') errors.push(requiredValue(`${field}.name`));
  if (textOf(spec['image']) === '') errors.push(requiredValue(`${field}.image`));
  const resources = recordOf(spec['resources']);
  const requests = recordOf(resources['requests']) as Record<string, string>;
  const limits = amountsOf(recordOf(resources['limits']) as Record<string, string>);
  for (const [name, amount] of Object.entries(amountsOf(requests))) {
    if (amount < 0)
      errors.push(
        invalidValue(
          `${field}.resources.requests[${name}]`,
          lookUp(requests, name),
          'must be greater than or equal to 0',
        ),
      );
    const limit = lookUp(limits, name);
    if (limit !== undefined && amount > limit)
      errors.push(
        invalidValue(
          `${field}.resources.requests`,
          lookUp(requests, name),
          `must be less than or equal to ${name} limit of ${textOf(lookUp(recordOf(resources['limits']), name))}`,
        ),
      );
  }
  return errors;
}

function spreadErrors(field: string, constraint: Raw): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (Number(constraint['maxSkew'] ?? 0) <= 0)
    errors.push(
      invalidValue(`${field}.maxSkew`, constraint['maxSkew'] ?? 0, 'must be greater than zero'),
    );
  if (textOf(constraint['topologyKey']) === '')
    errors.push(requiredValue(`${field}.topologyKey`, 'can not be empty'));
  const action = constraint['whenUnsatisfiable'];
  if (action !== 'DoNotSchedule' && action !== 'ScheduleAnyway')
    errors.push(
      unsupportedValue(`${field}.whenUnsatisfiable`, action, ['DoNotSchedule', 'ScheduleAnyway']),
    );
  if (constraint['minDomains'] !== undefined && action !== 'DoNotSchedule')
    errors.push(
      invalidValue(
        `${field}.minDomains`,
        constraint['minDomains'],
        'can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway',
      ),
    );
  return errors;
}

function tolerationErrors(field: string, toleration: Raw): readonly FieldError[] {
  const operator = toleration['operator'];
  if (textOf(toleration['key']) === '' && operator !== 'Exists')
    return [
      invalidValue(
        `${field}.operator`,
        operator ?? '',
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      ),
    ];
  if (operator === 'Exists' && textOf(toleration['value']) !== '')
    return [
      invalidValue(
        `${field}.operator`,
        toleration['value'],
        "value must be empty when `operator` is 'Exists'",
      ),
    ];
  if (toleration['tolerationSeconds'] !== undefined && toleration['effect'] !== 'NoExecute')
    return [
      invalidValue(
        `${field}.effect`,
        toleration['effect'] ?? '',
        "effect must be 'NoExecute' when `tolerationSeconds` is set",
      ),
    ];
  return [];
}

const each = (
  value: unknown,
  field: string,
  check: (field: string, item: Raw) => readonly FieldError[],
): readonly FieldError[] =>
  listOf(value).flatMap((item, index) => check(`${field}[${index}]`, recordOf(item)));

function duplicateNames(field: string, value: unknown): readonly FieldError[] {
  const seen = new Set<string>();
  return listOf(value).flatMap((item, index) => {
    const name = textOf(recordOf(item)['name']);
    if (!seen.has(name)) return (seen.add(name), []);
    return [duplicateValue(`${field}[${index}].name`, name)];
  });
}

/** The errors of a pod's spec, for pods and templates. */
export function podSpecErrors(field: string, spec: Raw): readonly FieldError[] {
  const errors: FieldError[] = [];
  if (listOf(spec['containers']).length === 0) errors.push(requiredValue(`${field}.containers`));
  for (const list of ['containers', 'initContainers'])
    errors.push(
      ...each(lookUp(spec, list), `${field}.${list}`, containerErrors),
      ...duplicateNames(`${field}.${list}`, lookUp(spec, list)),
    );
  if (!['Always', 'OnFailure', 'Never'].includes(textOf(spec['restartPolicy'])))
    errors.push(
      unsupportedValue(`${field}.restartPolicy`, spec['restartPolicy'], [
        'Always',
        'OnFailure',
        'Never',
      ]),
    );
  errors.push(
    ...labelErrors(
      `${field}.nodeSelector`,
      spec['nodeSelector'] as Record<string, string> | undefined,
    ),
  );
  errors.push(
    ...each(spec['topologySpreadConstraints'], `${field}.topologySpreadConstraints`, spreadErrors),
  );
  errors.push(...each(spec['tolerations'], `${field}.tolerations`, tolerationErrors));
  return errors;
}

const updatable = new Set([
  'tolerations',
  'activeDeadlineSeconds',
  'schedulingGates',
  'terminationGracePeriodSeconds',
  'containers',
  'initContainers',
]);

const withoutImages = (containers: unknown): unknown =>
  listOf(containers).map((item) => ({ ...recordOf(item), image: '' }));

function frozenFields(spec: Raw, before: Raw): readonly string[] {
  const gated = listOf(before['schedulingGates']).length > 0;
  return [...new Set([...Object.keys(spec), ...Object.keys(before)])].filter((field) => {
    if (equalJson(lookUp(spec, field), lookUp(before, field))) return false;
    if (field === 'containers' || field === 'initContainers')
      return !equalJson(withoutImages(spec[field]), withoutImages(before[field]));
    return !updatable.has(field) && !(gated && (field === 'nodeSelector' || field === 'affinity'));
  });
}

function updateErrors(pod: StoredObject, before: StoredObject): readonly FieldError[] {
  const spec = recordOf(pod['spec']);
  const old = recordOf(before['spec']);
  const changed = frozenFields(spec, old);
  if (changed.length > 0) {
    return [
      forbiddenValue(
        'spec',
        `pod updates may not change fields other than \`spec.containers[*].image\`,\`spec.initContainers[*].image\`,\`spec.activeDeadlineSeconds\`,\`spec.tolerations\` (only additions to existing tolerations),\`spec.terminationGracePeriodSeconds\` (allow it to be set to 1 if it was previously negative); changed: ${changed.join(', ')}`,
      ),
    ];
  }
  const gates = (value: Raw): readonly string[] =>
    listOf(value['schedulingGates']).map((gate) => textOf(recordOf(gate)['name']));
  const added = gates(spec).filter((gate) => !gates(old).includes(gate));
  return added.length === 0
    ? []
    : [
        forbiddenValue(
          'spec.schedulingGates',
          `only deletion is allowed, but found new scheduling gates: ${added.join(', ')}`,
        ),
      ];
}

function priorityOf(
  spec: Raw,
  pod: StoredObject,
  context: StrategyContext,
): { value: number; policy: string } {
  const classes = context.table('priorityclasses.scheduling.k8s.io');
  const name = textOf(spec['priorityClassName']);
  if (name === '') {
    const standard = [...classes.values()]
      .filter((one) => one['globalDefault'] === true)
      .sort((a, b) => Number(a['value']) - Number(b['value']))[0];
    return {
      value: Number(standard?.['value'] ?? 0),
      policy: textOf(standard?.['preemptionPolicy']) || 'PreemptLowerPriority',
    };
  }
  const found = classes.get(name);
  if (found === undefined)
    throw forbidden(
      { group: '', plural: 'pods', kind: 'Pod' },
      pod.metadata.name,
      `no PriorityClass with name ${name} was found`,
    );
  return {
    value: Number(found['value'] ?? 0),
    policy: textOf(found['preemptionPolicy']) || 'PreemptLowerPriority',
  };
}

function prepareCreate(pod: StoredObject, context: StrategyContext): StoredObject {
  const given = limitedPodSpec(recordOf(pod['spec']), pod, context);
  const spec = admittedPodSpec(given, priorityOf(given, pod, context));
  const gated = listOf(spec['schedulingGates']).length > 0;
  const conditions = gated
    ? {
        conditions: [
          {
            type: 'PodScheduled',
            status: 'False',
            reason: 'SchedulingGated',
            message: 'Scheduling is blocked due to non-empty scheduling gates',
            lastProbeTime: null,
            lastTransitionTime: null,
          },
        ],
      }
    : {};
  return { ...pod, spec, status: { phase: 'Pending', ...conditions, qosClass: qosClass(spec) } };
}

/** Pods. */
export const podStrategy: Strategy = {
  defaults: (pod) => ({ ...pod, spec: podSpecDefaults(recordOf(pod['spec'])) }),
  prepareCreate,
  prepareUpdate: (pod) => (isRecord(pod['spec']) ? pod : { ...pod, spec: {} }),
  validate: (pod, before) => [
    ...podSpecErrors('spec', recordOf(pod['spec'])),
    ...(before === undefined ? [] : updateErrors(pod, before)),
  ],
  admit: (object, context) => {
    const pod = object as Pod & { spec: PodSpecView };
    admitLimitRanges(pod, context);
    admitQuota(pod, context);
  },
};
