import type { Parsed, ParseFailure, Raw } from '@dovetail/core-kube-model';
import {
  Malformed,
  optional,
  parsed,
  parseDurationMs,
  readInteger,
  readList,
  readMeta,
  readObject,
  readOneOf,
  readRecord,
  readRequiredText,
  readText,
} from '@dovetail/core-kube-model';

import { classGroup, classKinds } from '../another-provider.js';
import { parseCron } from '../cron.js';
import { karpenterPoolHash } from '../karpenter-hash.js';
import type { NodeClassRef } from '../node-class.js';
import { type DisruptionBudget, disruptionReasons, type Pool } from '../pool.js';
import {
  conditionIsTrue,
  readConditions,
  readDurationMs,
  readLimits,
  readNodeLabels,
  readPoolRequirements,
  readPoolTaints,
} from './fields.js';
import { readPoolAnnotations, readTemplateAnnotations } from './pool-annotations.js';

const nodesPattern = /^((100|[0-9]{1,2})%|[0-9]+)$/;
const windowPattern = /^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$/;

/**
 * The lifetime of nodes whose NodePool names none: 720 hours, the default of Karpenter's schema.
 */
const defaultExpireAfterMs = 720 * 3_600_000;

/** Kubernetes' int32, which Karpenter reads a count as. */
const countMax = 2 ** 31 - 1;

function readBudgetNodes(raw: unknown, field: string): DisruptionBudget['nodes'] {
  const text = readText(raw, field) ?? '10%';
  if (!nodesPattern.test(text))
    throw new Malformed(
      field,
      raw,
      'write a count such as "5", or a percentage from "0%" to "100%"',
    );
  if (text.endsWith('%')) return { percent: Number(text.slice(0, -1)) };
  const count = Number(text);
  if (count > countMax)
    throw new Malformed(field, raw, `write a count of at most ${String(countMax)}, such as "5"`);
  return { count };
}

function readSchedule(item: Raw, path: string): DisruptionBudget['schedule'] {
  const cron = readText(item['schedule'], `${path}.schedule`);
  const window = readText(item['duration'], `${path}.duration`);
  if (cron === undefined && window === undefined) return undefined;
  if (cron === undefined)
    throw new Malformed(
      `${path}.schedule`,
      undefined,
      'duration is set: say with schedule when its window begins',
    );
  if (window === undefined)
    throw new Malformed(
      `${path}.duration`,
      undefined,
      'schedule is set: say with duration how long its window lasts',
    );
  const parsedCron = parseCron(cron);
  if (!parsedCron.ok) throw new Malformed(`${path}.schedule`, cron, parsedCron.remedy);
  const durationMs = windowPattern.test(window) ? parseDurationMs(window) : undefined;
  if (durationMs === undefined)
    throw new Malformed(`${path}.duration`, window, 'write hours and minutes, such as 8h or 1h30m');
  return { cron, durationMs };
}

function readBudget(item: Raw, path: string): DisruptionBudget {
  const reasons = item['reasons'] ?? undefined;
  return {
    nodes: readBudgetNodes(item['nodes'], `${path}.nodes`),
    ...(reasons === undefined
      ? {}
      : {
          reasons: readList(reasons, `${path}.reasons`).map((one, index) =>
            readOneOf(one, `${path}.reasons[${index}]`, disruptionReasons),
          ),
        }),
    ...optional('schedule', readSchedule(item, path)),
  };
}

/** A budget that cannot be read allows nothing: guessing could end too many nodes. */
const closed = ({ field, value, remedy }: ParseFailure): DisruptionBudget => ({
  nodes: { count: 0 },
  problem: `${field} is ${value}: ${remedy}`,
});

/**
 * Reads `spec.disruption.budgets`. Without any, a tenth of the nodes (Karpenter's default). A
 * budget that cannot be read is closed, and says why: it costs its pool no launch.
 */
export function readBudgets(raw: unknown, field: string): readonly DisruptionBudget[] {
  if (raw === undefined || raw === null) return [{ nodes: { percent: 10 } }];
  const items = readList(raw, field);
  if (items.length > 50)
    throw new Malformed(field, `${items.length} entries`, 'write at most 50 budgets');
  return items.map((item, index) => {
    const path = `${field}[${index}]`;
    const read = parsed(() => readBudget(readRecord(item, path), path));
    return read.ok ? read.value : closed(read);
  });
}

function readDisruption(spec: Raw): Pool['disruption'] {
  const disruption = readRecord(spec['disruption'], 'spec.disruption');
  const after = readDurationMs(
    disruption['consolidateAfter'] ?? '0s',
    'spec.disruption.consolidateAfter',
    { allowNever: true },
  );
  return {
    policy: readOneOf(
      disruption['consolidationPolicy'],
      'spec.disruption.consolidationPolicy',
      ['WhenEmpty', 'WhenEmptyOrUnderutilized', 'Balanced'],
      'WhenEmptyOrUnderutilized',
    ),
    ...optional('consolidateAfterMs', after),
    budgets: readBudgets(disruption['budgets'], 'spec.disruption.budgets'),
  };
}

/** Reads a reference to a node class. Every part is required. */
export function readClassRef(raw: unknown, field: string): NodeClassRef {
  const ref = readRecord(raw, field);
  return {
    group: readOneOf(ref['group'], `${field}.group`, [classGroup]),
    kind: readOneOf(ref['kind'], `${field}.kind`, classKinds),
    name: readRequiredText(ref['name'], `${field}.name`),
  };
}

type Template = Pick<
  Pool,
  | 'labels'
  | 'annotations'
  | 'taints'
  | 'startupTaints'
  | 'requirements'
  | 'classRef'
  | 'expireAfterMs'
  | 'terminationGracePeriodMs'
>;

function readTemplate(spec: Raw): Template {
  const template = readRecord(spec['template'], 'spec.template');
  const metadata = readRecord(template['metadata'], 'spec.template.metadata');
  const node = readRecord(template['spec'], 'spec.template.spec');
  const field = 'spec.template.spec';
  const expireAfterMs =
    node['expireAfter'] === undefined || node['expireAfter'] === null
      ? defaultExpireAfterMs
      : readDurationMs(node['expireAfter'], `${field}.expireAfter`, { allowNever: true });
  return {
    labels: readNodeLabels(metadata['labels'], 'spec.template.metadata.labels'),
    annotations: readTemplateAnnotations(
      metadata['annotations'],
      'spec.template.metadata.annotations',
    ),
    ...readPoolTaints(node, field),
    requirements: readPoolRequirements(node['requirements'], `${field}.requirements`),
    classRef: readClassRef(node['nodeClassRef'], `${field}.nodeClassRef`),
    ...optional('expireAfterMs', expireAfterMs),
    ...optional(
      'terminationGracePeriodMs',
      readDurationMs(node['terminationGracePeriod'], `${field}.terminationGracePeriod`, {
        allowNever: false,
      }),
    ),
  };
}

function checkStatic(spec: Raw, replicas: number | undefined, limits: Pool['limits']): void {
  if (replicas === undefined) return;
  if (spec['weight'] !== undefined && spec['weight'] !== null)
    throw new Malformed(
      'spec.weight',
      spec['weight'],
      'a pool with replicas has no weight: remove one of the two',
    );
  const other = Object.keys(limits)
    .sort()
    .find((name) => name !== 'nodes');
  if (other !== undefined)
    throw new Malformed(
      `spec.limits.${other}`,
      undefined,
      'a pool with replicas may limit nodes only: remove this limit',
    );
}

/**
 * Reads a NodePool of karpenter.sh/v1 with its schema's defaults. Refuses what the API server
 * refuses and what Karpenter marks as NodePoolValidationFailed. `ready` comes from the object's own
 * status.
 */
export function nodePoolOf(raw: unknown): Parsed<Pool> {
  return parsed((): Pool => {
    const object = readObject(raw);
    const meta = readMeta(object);
    const spec = readRecord(object['spec'], 'spec');
    const template = readTemplate(spec);
    const limits = readLimits(spec['limits'], 'spec.limits');
    const replicas = readInteger(spec['replicas'], 'spec.replicas', { min: 0 });
    checkStatic(spec, replicas, limits);
    return {
      identity: { kind: 'NodePool', name: meta.name },
      uid: meta.uid,
      resourceVersion: meta.resourceVersion,
      generation: meta.generation,
      createdMs: meta.createdMs,
      ...optional('deletionMs', meta.deletionMs),
      weight: readInteger(spec['weight'], 'spec.weight', { min: 1, max: 100 }) ?? 0,
      limits,
      ...template,
      hash: karpenterPoolHash(spec['template']),
      ready: conditionIsTrue(readConditions(readRecord(object['status'], 'status')), 'Ready'),
      disruption: readDisruption(spec),
      ...optional('replicas', replicas),
      ...readPoolAnnotations(meta.annotations),
    };
  });
}
