import { lookUp } from '@dovetail/core-invariant';

import { textOf } from '../../model/json.js';
import type { StoredObject } from '../../model/objects.js';
import type { PrinterColumn, ResourceType } from '../../store/registry.js';
import { autoscalerColumns } from './autoscaler.js';
import { ageColumn, ageText, type Cell, type Column, column, nameColumn } from './column.js';
import { valuesAtPath } from './json-path.js';
import { otherColumns } from './others.js';
import { nodeColumns, podColumns } from './pods-and-nodes.js';
import {
  cronJobColumns,
  daemonSetColumns,
  deploymentColumns,
  jobColumns,
  replicaSetColumns,
  statefulSetColumns,
} from './workloads.js';

const builtin: Readonly<Record<string, readonly Column[]>> = {
  ...otherColumns,
  pods: podColumns,
  nodes: nodeColumns,
  'deployments.apps': deploymentColumns,
  'replicasets.apps': replicaSetColumns,
  'statefulsets.apps': statefulSetColumns,
  'daemonsets.apps': daemonSetColumns,
  'jobs.batch': jobColumns,
  'cronjobs.batch': cronJobColumns,
  'horizontalpodautoscalers.autoscaling': autoscalerColumns,
};

const plain: readonly Column[] = [nameColumn, ageColumn];

function customCell(printer: PrinterColumn): (object: StoredObject, nowMs: number) => Cell {
  return (object, nowMs) => {
    const [value] = valuesAtPath(object, printer.jsonPath);
    if (value === undefined || value === null) return null;
    if (printer.type === 'date') return ageText(textOf(value), nowMs);
    if (printer.type === 'integer' || printer.type === 'number') return Number(value);
    if (printer.type === 'boolean') return value === true;
    return typeof value === 'object' ? JSON.stringify(value) : textOf(value);
  };
}

const customTypes = new Set(['string', 'integer', 'boolean', 'date', 'number']);

function customColumns(type: ResourceType): readonly Column[] {
  if (type.columns === undefined) return plain;
  return [
    nameColumn,
    ...type.columns.map((printer) => {
      const shape = {
        type: (customTypes.has(printer.type) ? printer.type : 'string') as Column['type'],
        wide: (printer.priority ?? 0) > 0,
      };
      return column(printer.name, customCell(printer), shape);
    }),
  ];
}

const columnsOf = (type: ResourceType): readonly Column[] =>
  type.custom ? customColumns(type) : (lookUp(builtin, type.table) ?? plain);

/** The part of its object that a row carries. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

function rowObject(object: StoredObject, include: IncludeObject): object {
  if (include === 'None') return {};
  return {
    object:
      include === 'Object'
        ? object
        : {
            kind: 'PartialObjectMetadata',
            apiVersion: 'meta.k8s.io/v1',
            metadata: object.metadata,
          },
  };
}

/** Objects as a Table, which kubectl prints as it is. `metadata` is the list's. */
export function tableOf(
  type: ResourceType,
  objects: readonly StoredObject[],
  options: {
    readonly metadata: object;
    readonly nowMs: number;
    readonly include: IncludeObject;
    readonly headers: boolean;
  },
): object {
  const columns = columnsOf(type);
  const columnDefinitions = columns.map((one) => ({
    name: one.name,
    type: one.type,
    format: one.format ?? '',
    description: '',
    priority: one.wide === true ? 1 : 0,
  }));
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: options.metadata,
    columnDefinitions: options.headers ? columnDefinitions : null,
    rows: objects.map((object) => ({
      cells: columns.map((one) => one.cell(object, options.nowMs)),
      ...rowObject(object, options.include),
    })),
  };
}
