import { lookUp } from '@dovetail/core-invariant';
import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import { cronSchedule, CronSyntaxError, isTimeZone } from '../model/cron-schedule.js';
import { type FieldError, invalidValue, requiredValue, unsupportedValue } from '../model/errors.js';
import { equalJson, textOf } from '../model/json.js';
import type { StoredObject } from '../model/objects.js';
import type { Strategy } from '../store/strategy.js';
import { podSpecErrors } from './pod.js';
import { templateDefaults } from './pod-defaults.js';

/** A Job selects its pods by its uid, unless manualSelector is set. */
function jobCreate(object: StoredObject): StoredObject {
  const spec = recordOf(object['spec']);
  if (spec['manualSelector'] === true) return object;
  const uid = object.metadata.uid;
  const own = {
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': object.metadata.name,
    'controller-uid': uid,
    'job-name': object.metadata.name,
  };
  const template = recordOf(spec['template']);
  const metadata = recordOf(template['metadata']);
  const labelled = {
    ...template,
    metadata: { ...metadata, labels: { ...recordOf(metadata['labels']), ...own } },
  };
  return {
    ...object,
    metadata: {
      ...object.metadata,
      labels: object.metadata.labels ?? (recordOf(metadata['labels']) as Record<string, string>),
    },
    spec: {
      ...spec,
      selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } },
      template: labelled,
    },
  };
}

const counts = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
];

const negatives = (field: string, spec: Raw, names: readonly string[]): readonly FieldError[] =>
  names.flatMap((name) =>
    Number(lookUp(spec, name) ?? 0) < 0
      ? [invalidValue(`${field}.${name}`, lookUp(spec, name), 'must be greater than or equal to 0')]
      : [],
  );

/** The errors of a Job's spec, in Jobs and in the templates of CronJobs alike. */
function jobSpecErrors(field: string, spec: Raw): readonly FieldError[] {
  const template = recordOf(recordOf(spec['template'])['spec']);
  const errors = [
    ...negatives(field, spec, counts),
    ...podSpecErrors(`${field}.template.spec`, template),
  ];
  if (template['restartPolicy'] === 'Always')
    errors.push(
      requiredValue(`${field}.template.spec.restartPolicy`, 'valid values: "OnFailure", "Never"'),
    );
  return errors;
}

function jobErrors(object: StoredObject, before: StoredObject | undefined): readonly FieldError[] {
  const spec = recordOf(object['spec']);
  const errors = [...jobSpecErrors('spec', spec)];
  if (before !== undefined && !equalJson(recordOf(before['spec'])['template'], spec['template']))
    errors.push(invalidValue('spec.template', {}, 'field is immutable'));
  return errors;
}

/** Jobs. */
export const jobStrategy: Strategy = {
  defaults: (object) => {
    const spec = recordOf(object['spec']);
    const started =
      spec['completions'] === undefined && spec['parallelism'] === undefined
        ? { completions: 1, parallelism: 1 }
        : { parallelism: 1 };
    const defaults = {
      ...started,
      backoffLimit: 6,
      completionMode: 'NonIndexed',
      suspend: false,
      manualSelector: false,
      podReplacementPolicy: 'TerminatingOrFailed',
    };
    return {
      ...object,
      spec: { ...defaults, ...spec, template: templateDefaults(spec['template']) },
    };
  },
  prepareCreate: jobCreate,
  validate: jobErrors,
};

function scheduleErrors(schedule: string): readonly FieldError[] {
  const field = 'spec.schedule';
  if (schedule === '') return [requiredValue(field)];
  const errors: FieldError[] = [];
  try {
    cronSchedule(schedule.replace(/^(CRON_)?TZ=\S* ?/, ''));
  } catch (thrown) {
    if (!(thrown instanceof CronSyntaxError)) throw thrown;
    errors.push(invalidValue(field, schedule, thrown.message));
  }
  if (schedule.includes('TZ'))
    errors.push(
      invalidValue(
        field,
        schedule,
        'cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
      ),
    );
  return errors;
}

function zoneErrors(zone: unknown): readonly FieldError[] {
  const field = 'spec.timeZone';
  if (typeof zone !== 'string') return [];
  if (zone === '') return [invalidValue(field, '', 'timeZone must be nil or non-empty string')];
  if (zone.toLowerCase() === 'local')
    return [
      invalidValue(
        field,
        zone,
        'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
      ),
    ];
  return isTimeZone(zone) ? [] : [invalidValue(field, zone, `unknown time zone ${zone}`)];
}

const policies = ['Allow', 'Forbid', 'Replace'];

function templateErrors(template: Raw): readonly FieldError[] {
  const field = 'spec.jobTemplate.spec';
  const spec = recordOf(template['spec']);
  const errors = [...jobSpecErrors(field, spec)];
  if (isRecord(spec['selector']))
    errors.push(
      invalidValue(`${field}.selector`, spec['selector'], '`selector` will be auto-generated'),
    );
  if (spec['manualSelector'] === true)
    errors.push(unsupportedValue(`${field}.manualSelector`, true, ['nil', 'false']));
  return errors;
}

// A Job's name is the CronJob's and eleven characters more.
const nameMax = 52;

function cronJobErrors(
  object: StoredObject,
  before: StoredObject | undefined,
): readonly FieldError[] {
  const spec = recordOf(object['spec']);
  const { name } = object.metadata;
  const policy = spec['concurrencyPolicy'];
  const isNewZone =
    before === undefined || recordOf(before['spec'])['timeZone'] !== spec['timeZone'];
  return [
    ...scheduleErrors(textOf(spec['schedule'])),
    ...negatives('spec', spec, ['startingDeadlineSeconds']),
    ...(isNewZone ? zoneErrors(spec['timeZone']) : []),
    ...(policies.includes(textOf(policy))
      ? []
      : [unsupportedValue('spec.concurrencyPolicy', policy, policies)]),
    ...templateErrors(recordOf(spec['jobTemplate'])),
    ...negatives('spec', spec, ['successfulJobsHistoryLimit', 'failedJobsHistoryLimit']),
    ...(before === undefined && name.length > nameMax
      ? [invalidValue('metadata.name', name, `must be no more than ${nameMax} characters`)]
      : []),
  ];
}

/**
 * CronJobs. The template's pod gets its defaults at once; those of the Job come when the Job is
 * made, as in Kubernetes.
 */
export const cronJobStrategy: Strategy = {
  defaults: (object) => {
    const spec = recordOf(object['spec']);
    const jobTemplate = recordOf(spec['jobTemplate']);
    const jobSpec = recordOf(jobTemplate['spec']);
    const defaults = {
      concurrencyPolicy: 'Allow',
      suspend: false,
      successfulJobsHistoryLimit: 3,
      failedJobsHistoryLimit: 1,
    };
    const filled = { ...jobSpec, template: templateDefaults(jobSpec['template']) };
    return {
      ...object,
      spec: { ...defaults, ...spec, jobTemplate: { ...jobTemplate, spec: filled } },
    };
  },
  prepareCreate: (object) => ({ ...object, status: {} }),
  validate: cronJobErrors,
};
