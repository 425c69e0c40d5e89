import { lookUp } from '@dovetail/core-invariant';
import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import {
  type FieldError,
  forbiddenValue,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from '../model/errors.js';
import { listOf, textOf } from '../model/json.js';
import type { StoredObject } from '../model/objects.js';
import { parseMillis } from '../model/quantity.js';
import type { Strategy } from '../store/strategy.js';

// The rules of pkg/apis/autoscaling of Kubernetes: v2/defaults.go and validation/validation.go.

const perQuarterMinute = (type: string, value: number): Raw => ({ type, value, periodSeconds: 15 });

const scaleUpDefaults: Raw = {
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [perQuarterMinute('Pods', 4), perQuarterMinute('Percent', 100)],
};

const scaleDownDefaults: Raw = {
  selectPolicy: 'Max',
  policies: [perQuarterMinute('Percent', 100)],
};

const cpuDefault: Raw = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
};

function withDefaults(object: StoredObject): StoredObject {
  const spec = recordOf(object['spec']);
  const { behavior } = spec;
  const filled = isRecord(behavior)
    ? {
        behavior: {
          scaleUp: { ...scaleUpDefaults, ...recordOf(behavior['scaleUp']) },
          scaleDown: { ...scaleDownDefaults, ...recordOf(behavior['scaleDown']) },
        },
      }
    : {};
  const metrics = listOf(spec['metrics']).length === 0 ? [cpuDefault] : spec['metrics'];
  return { ...object, spec: { minReplicas: 1, ...spec, metrics, ...filled } };
}

const policyTypes = ['Percent', 'Pods'];
const selections = ['Disabled', 'Max', 'Min'];
const periodMax = 1800;
const windowMax = 3600;

function policyErrors(field: string, policy: Raw): readonly FieldError[] {
  const period = Number(policy['periodSeconds'] ?? 0);
  return [
    ...(policyTypes.includes(textOf(policy['type']))
      ? []
      : [unsupportedValue(`${field}.type`, policy['type'], policyTypes)]),
    ...(Number(policy['value'] ?? 0) > 0
      ? []
      : [invalidValue(`${field}.value`, policy['value'], 'must be greater than zero')]),
    ...(period > 0
      ? []
      : [invalidValue(`${field}.periodSeconds`, period, 'must be greater than zero')]),
    ...(period <= periodMax
      ? []
      : [
          invalidValue(
            `${field}.periodSeconds`,
            period,
            `must be less than or equal to ${periodMax}`,
          ),
        ]),
  ];
}

function rulesErrors(field: string, rules: unknown): readonly FieldError[] {
  if (!isRecord(rules)) return [];
  const window = rules['stabilizationWindowSeconds'];
  const at = `${field}.stabilizationWindowSeconds`;
  const policies = listOf(rules['policies']).map(recordOf);
  return [
    ...(Number(window ?? 0) < 0
      ? [invalidValue(at, window, 'must be greater than or equal to zero')]
      : []),
    ...(Number(window ?? 0) > windowMax
      ? [invalidValue(at, window, `must be less than or equal to ${windowMax}`)]
      : []),
    ...(selections.includes(textOf(rules['selectPolicy']))
      ? []
      : [unsupportedValue(`${field}.selectPolicy`, rules['selectPolicy'], selections)]),
    ...(policies.length === 0
      ? [requiredValue(`${field}.policies`, 'must specify at least one Policy')]
      : []),
    ...policies.flatMap((policy, index) => policyErrors(`${field}.policies[${index}]`, policy)),
  ];
}

const targetTypes = ['Utilization', 'Value', 'AverageValue'];

function targetErrors(field: string, target: Raw): readonly FieldError[] {
  const { type, averageUtilization } = target;
  const positive = (name: string): readonly FieldError[] =>
    lookUp(target, name) !== undefined && (parseMillis(textOf(lookUp(target, name))) ?? 0) <= 0
      ? [invalidValue(`${field}.${name}`, lookUp(target, name), 'must be positive')]
      : [];
  return [
    ...(textOf(type) === ''
      ? [requiredValue(`${field}.type`, 'must specify a metric target type')]
      : []),
    ...(targetTypes.includes(textOf(type))
      ? []
      : [
          invalidValue(`${field}.type`, type, 'must be either Utilization, Value, or AverageValue'),
        ]),
    ...positive('value'),
    ...positive('averageValue'),
    ...(averageUtilization !== undefined && Number(averageUtilization) < 1
      ? [invalidValue(`${field}.averageUtilization`, averageUtilization, 'must be greater than 0')]
      : []),
  ];
}

/** Fields of which a target of each source must have at least one, and the words if it has none. */
const targetFields: Readonly<Record<string, readonly [fields: readonly string[], words: string]>> =
  {
    resource: [
      ['averageUtilization', 'averageValue'],
      'must set either a target raw value or a target utilization',
    ],
    containerResource: [
      ['averageUtilization', 'averageValue'],
      'must set either a target raw value or a target utilization',
    ],
    pods: [['averageValue'], 'must specify a positive target averageValue'],
    object: [['averageValue', 'value'], 'must set either a target value or averageValue'],
    external: [
      ['averageValue', 'value'],
      'must set either a target value for metric or a per-pod target',
    ],
  };

function sourceErrors(field: string, kind: string, source: Raw): readonly FieldError[] {
  const target = recordOf(source['target']);
  const [fields, words] = lookUp(targetFields, kind) ?? [[], ''];
  const isOfPods = kind === 'resource' || kind === 'containerResource';
  const both =
    isOfPods && target['averageUtilization'] !== undefined && target['averageValue'] !== undefined;
  return [
    ...(isOfPods && textOf(source['name']) === ''
      ? [requiredValue(`${field}.name`, 'must specify a resource name')]
      : []),
    ...(kind === 'containerResource' && textOf(source['container']) === ''
      ? [requiredValue(`${field}.container`, 'must specify a container')]
      : []),
    ...targetErrors(`${field}.target`, target),
    ...(fields.some((name) => lookUp(target, name) !== undefined)
      ? []
      : [requiredValue(`${field}.target.${fields[0] ?? ''}`, words)]),
    ...(both
      ? [
          forbiddenValue(
            `${field}.target.averageValue`,
            'may not set both a target raw value and a target utilization',
          ),
        ]
      : []),
  ];
}

/** The field of each type of metric, in the order of the API server's checks. */
const sourceFields: Readonly<Record<string, string>> = {
  Object: 'object',
  External: 'external',
  Pods: 'pods',
  Resource: 'resource',
  ContainerResource: 'containerResource',
};

function metricErrors(field: string, metric: Raw): readonly FieldError[] {
  const type = textOf(metric['type']);
  const wanted = lookUp(sourceFields, type);
  const present = Object.values(sourceFields).filter((name) => lookUp(metric, name) !== undefined);
  const [first] = present;
  const unknown = unsupportedValue(
    `${field}.type`,
    metric['type'],
    Object.keys(sourceFields).toSorted(),
  );
  return [
    ...(type === '' ? [requiredValue(`${field}.type`, 'must specify a metric source type')] : []),
    ...(wanted === undefined ? [unknown] : []),
    ...(first === undefined
      ? []
      : sourceErrors(`${field}.${first}`, first, recordOf(lookUp(metric, first)))),
    ...(wanted !== undefined && lookUp(metric, wanted) === undefined
      ? [
          requiredValue(
            `${field}.${wanted}`,
            'must populate information for the given metric source',
          ),
        ]
      : []),
    ...(wanted === undefined ? [unknown] : []),
    ...(present.length === 1
      ? []
      : present
          .filter((name) => name !== wanted)
          .map((name) =>
            forbiddenValue(`${field}.${name}`, 'must populate the given metric source only'),
          )),
  ];
}

function referenceErrors(reference: Raw, before: Raw | undefined): readonly FieldError[] {
  const field = 'spec.scaleTargetRef';
  const { apiVersion, kind } = reference;
  const isKept =
    before !== undefined && before['apiVersion'] === apiVersion && before['kind'] === kind;
  const needsGroup = !isKept && kind !== 'ReplicationController';
  const required = ['kind', 'name'].flatMap((name) =>
    textOf(lookUp(reference, name)) === '' ? [requiredValue(`${field}.${name}`)] : [],
  );
  return needsGroup && !textOf(apiVersion).includes('/')
    ? [
        ...required,
        invalidValue(
          `${field}.apiVersion`,
          textOf(apiVersion),
          'apiVersion must specify API group',
        ),
      ]
    : required;
}

/** Only metrics of something else than pods can tell when none is needed. */
const zeroErrors = (least: number, metrics: readonly unknown[]): readonly FieldError[] =>
  least === 0 &&
  !metrics.some((one) => ['Object', 'External'].includes(textOf(recordOf(one)['type'])))
    ? [
        forbiddenValue(
          'spec.metrics',
          'must specify at least one Object or External metric to support scaling to zero replicas',
        ),
      ]
    : [];

function autoscalerErrors(
  object: StoredObject,
  before: StoredObject | undefined,
): readonly FieldError[] {
  const spec = recordOf(object['spec']);
  const [least, most] = [Number(spec['minReplicas']), Number(spec['maxReplicas'] ?? 0)];
  const behavior = recordOf(spec['behavior']);
  const old = before === undefined ? undefined : recordOf(before['spec']);
  return [
    ...(least < 1
      ? [invalidValue('spec.minReplicas', least, 'must be greater than or equal to 1')]
      : []),
    ...(most < 1 ? [invalidValue('spec.maxReplicas', most, 'must be greater than 0')] : []),
    ...(most < least
      ? [invalidValue('spec.maxReplicas', most, 'must be greater than or equal to `minReplicas`')]
      : []),
    ...referenceErrors(
      recordOf(spec['scaleTargetRef']),
      old === undefined ? undefined : recordOf(old['scaleTargetRef']),
    ),
    ...listOf(spec['metrics']).flatMap((metric, index) =>
      metricErrors(`spec.metrics[${index}]`, recordOf(metric)),
    ),
    ...zeroErrors(least, listOf(spec['metrics'])),
    ...rulesErrors('spec.behavior.scaleUp', behavior['scaleUp']),
    ...rulesErrors('spec.behavior.scaleDown', behavior['scaleDown']),
  ];
}

/** HorizontalPodAutoscalers. */
export const autoscalerStrategy: Strategy = {
  defaults: withDefaults,
  prepareCreate: (object) => ({ ...object, status: { currentMetrics: null, desiredReplicas: 0 } }),
  validate: autoscalerErrors,
};
