import { lookUp } from '@dovetail/core-invariant';
import { compareText, recordOf } from '@dovetail/core-kube-model';

import { listOf, textOf } from '../../model/json.js';
import type { Condition, LabelSelectorSpec, StoredObject, Workload } from '../../model/objects.js';
import {
  ageColumn,
  ageText,
  type Cell,
  type Column,
  column,
  durationText,
  nameColumn,
  orNone,
} from './column.js';

const spec = (object: StoredObject): Workload['spec'] => (object as Workload).spec;
const status = (object: StoredObject, field: string): number =>
  Number(lookUp(recordOf(object['status']), field) ?? 0);
const containers = (object: StoredObject, field: 'name' | 'image'): string =>
  spec(object)
    .template.spec.containers.map((one) => one[field] ?? '')
    .join(',');

/** A label selector as one line. */
export function selectorText(selector: LabelSelectorSpec | undefined): string {
  if (selector === undefined) return '<none>';
  const equal = Object.entries(selector.matchLabels ?? {})
    .sort(([left], [right]) => compareText(left, right))
    .map(([key, value]) => `${key}=${value}`);
  const others = (selector.matchExpressions ?? []).map(({ key, operator, values = [] }) => {
    switch (operator) {
      case 'In':
        return `${key} in (${values.join(',')})`;
      case 'NotIn':
        return `${key} notin (${values.join(',')})`;
      case 'Exists':
        return key;
      default:
        return `!${key}`;
    }
  });
  return orNone([...equal, ...others].join(','));
}

const template: readonly Column[] = [
  column('Containers', (object) => containers(object, 'name'), { wide: true }),
  column('Images', (object) => containers(object, 'image'), { wide: true }),
];
const selector = column('Selector', (object) => selectorText(spec(object).selector), {
  wide: true,
});
const count = (name: string, field: string): Column =>
  column(name, (object) => status(object, field), { type: 'integer' });
const readyOf = column(
  'Ready',
  (object) => `${status(object, 'readyReplicas')}/${spec(object).replicas ?? 1}`,
);

/** The columns that kubectl prints for deployments. */
export const deploymentColumns: readonly Column[] = [
  nameColumn,
  readyOf,
  column('Up-to-date', (object) => String(status(object, 'updatedReplicas'))),
  column('Available', (object) => String(status(object, 'availableReplicas'))),
  ageColumn,
  ...template,
  selector,
];

/** The columns that kubectl prints for replica sets. */
export const replicaSetColumns: readonly Column[] = [
  nameColumn,
  column('Desired', (object) => spec(object).replicas ?? 1, { type: 'integer' }),
  count('Current', 'replicas'),
  count('Ready', 'readyReplicas'),
  ageColumn,
  ...template,
  selector,
];

/** The columns that kubectl prints for stateful sets. */
export const statefulSetColumns: readonly Column[] = [nameColumn, readyOf, ageColumn, ...template];

const nodeSelector = (object: StoredObject): string => {
  const wanted = Object.entries(spec(object).template.spec.nodeSelector ?? {}).sort(
    ([left], [right]) => compareText(left, right),
  );
  return orNone(wanted.map(([key, value]) => `${key}=${value}`).join(','));
};

/** The columns that kubectl prints for daemonsets. */
export const daemonSetColumns: readonly Column[] = [
  nameColumn,
  count('Desired', 'desiredNumberScheduled'),
  count('Current', 'currentNumberScheduled'),
  count('Ready', 'numberReady'),
  count('Up-to-date', 'updatedNumberScheduled'),
  count('Available', 'numberAvailable'),
  column('Node Selector', nodeSelector),
  ageColumn,
  ...template,
  selector,
];

function jobStatus(object: StoredObject): string {
  const conditions = listOf(recordOf(object['status'])['conditions']) as readonly Condition[];
  const holds = (type: string): boolean =>
    conditions.some((one) => one.type === type && one.status === 'True');
  for (const type of ['Complete', 'Failed', 'Suspended', 'FailureTarget'])
    if (holds(type)) return type;
  return object.metadata.deletionTimestamp === undefined ? 'Running' : 'Terminating';
}

function completions(object: StoredObject): string {
  const wanted = spec(object)['completions'];
  const parallelism = Number(spec(object)['parallelism'] ?? 1);
  if (wanted !== undefined) return `${status(object, 'succeeded')}/${Number(wanted)}`;
  return parallelism > 1
    ? `${status(object, 'succeeded')}/1 of ${parallelism}`
    : `${status(object, 'succeeded')}/1`;
}

function jobDuration(object: StoredObject, nowMs: number): Cell {
  const { startTime, completionTime } = recordOf(object['status']);
  if (startTime === undefined) return '';
  const endMs = completionTime === undefined ? nowMs : Date.parse(textOf(completionTime));
  return durationText(endMs - Date.parse(textOf(startTime)));
}

/** The columns that kubectl prints for jobs. */
export const jobColumns: readonly Column[] = [
  nameColumn,
  column('Status', jobStatus),
  column('Completions', completions),
  column('Duration', jobDuration),
  ageColumn,
  ...template,
  selector,
];

/** The Job that a CronJob makes, as far as the columns of a workload read it. */
const madeJob = (object: StoredObject): StoredObject => ({
  ...object,
  spec: recordOf(recordOf(object['spec'])['jobTemplate'])['spec'],
});

function lastSchedule(object: StoredObject, nowMs: number): string {
  const last = recordOf(object['status'])['lastScheduleTime'];
  return last === undefined ? '<none>' : ageText(textOf(last), nowMs);
}

/** The columns that kubectl prints for cron jobs. */
export const cronJobColumns: readonly Column[] = [
  nameColumn,
  column('Schedule', (object) => textOf(spec(object)['schedule'])),
  column('Timezone', (object) => orNone(textOf(spec(object)['timeZone']))),
  column('Suspend', (object) => (spec(object)['suspend'] === true ? 'True' : 'False'), {
    type: 'boolean',
  }),
  column('Active', (object) => listOf(recordOf(object['status'])['active']).length, {
    type: 'integer',
  }),
  column('Last Schedule', lastSchedule),
  ageColumn,
  ...[...template, selector].map((one) => ({
    ...one,
    cell: (object: StoredObject, nowMs: number): Cell => one.cell(madeJob(object), nowMs),
  })),
];
