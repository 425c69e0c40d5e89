import { lookUp } from '@dovetail/core-invariant';
import { type Raw, recordOf } from '@dovetail/core-kube-model';

import { listOf, textOf } from '../../model/json.js';
import type { StoredObject } from '../../model/objects.js';
import { ageColumn, type Column, column, nameColumn } from './column.js';

const shownMax = 2;
const spec = (object: StoredObject): Raw => recordOf(object['spec']);
const status = (object: StoredObject): Raw => recordOf(object['status']);

const percent = (value: unknown, without: string): string =>
  value === undefined ? without : `${textOf(value)}%`;

/** One target with what it is now, by formatHPAMetrics of Kubernetes' printers. */
function targetText(metric: Raw, measured: Raw): string {
  const [field = '', source] = Object.entries(metric).find(([name]) => name !== 'type') ?? ['', {}];
  const target = recordOf(recordOf(source)['target']);
  const current = recordOf(recordOf(lookUp(measured, field))['current']);
  const name = field === 'resource' || field === 'containerResource';
  const lead = name ? `${textOf(recordOf(source)['name'])}: ` : '';
  const unknown = '<unknown>';
  if (name && target['averageValue'] === undefined)
    return `${lead}${percent(current['averageUtilization'], unknown)}/${percent(target['averageUtilization'], '<auto>')}`;
  const isAverage = target['averageValue'] !== undefined;
  const key = isAverage ? 'averageValue' : 'value';
  const tail = isAverage && (field === 'object' || field === 'external') ? ' (avg)' : '';
  return `${lead}${textOf(current[key]) || unknown}/${textOf(target[key])}${tail}`;
}

/** The metrics and what was measured; autoscaling/v1 has fields for one of them. */
function metricsOf(object: StoredObject): readonly (readonly [metric: Raw, measured: Raw])[] {
  if (object.apiVersion === 'autoscaling/v1') {
    const wanted = spec(object)['targetCPUUtilizationPercentage'];
    const current = status(object)['currentCPUUtilizationPercentage'];
    const cpu = (of: string, averageUtilization: unknown): Raw => ({
      resource: { name: 'cpu', [of]: { averageUtilization } },
    });
    return wanted === undefined ? [] : [[cpu('target', wanted), cpu('current', current)]];
  }
  const measured = listOf(status(object)['currentMetrics']);
  return listOf(spec(object)['metrics']).map((metric, index) => [
    recordOf(metric),
    recordOf(measured[index]),
  ]);
}

function targets(object: StoredObject): string {
  const texts = metricsOf(object).map(([metric, measured]) => targetText(metric, measured));
  if (texts.length === 0) return '<none>';
  const more = texts.length - shownMax;
  const shown = texts.slice(0, shownMax).join(', ');
  return more > 0 ? `${shown} + ${more} more...` : shown;
}

function reference(object: StoredObject): string {
  const { kind, name } = recordOf(spec(object)['scaleTargetRef']);
  return `${textOf(kind)}/${textOf(name)}`;
}

/** The columns that kubectl prints for horizontal pod autoscalers. */
export const autoscalerColumns: readonly Column[] = [
  nameColumn,
  column('Reference', reference),
  column('Targets', targets),
  column('MinPods', (object) => textOf(spec(object)['minReplicas']) || '<unset>'),
  column('MaxPods', (object) => Number(spec(object)['maxReplicas'] ?? 0)),
  column('Replicas', (object) => Number(status(object)['currentReplicas'] ?? 0)),
  ageColumn,
];
