import type { StoredObject } from '../../model/objects.js';

/** A cell of a Table. */
export type Cell = string | number | boolean | null;

/** One column of a Table: what kubectl prints, and in `-o wide` only when `wide`. */
export type Column = {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date' | 'number';
  readonly format?: string;
  readonly wide?: boolean;
  readonly cell: (object: StoredObject, nowMs: number) => Cell;
};

const minute = 60;
const hour = 3600;
const day = 86_400;

/** A duration as kubectl shows ages: two units at most, fewer the longer it is. */
export function durationText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 2 * minute) return `${seconds}s`;
  const pair = (large: number, unit: string, small: number, smallUnit: string): string => {
    const rest = Math.floor((seconds % large) / small);
    return `${Math.floor(seconds / large)}${unit}${rest === 0 ? '' : `${rest}${smallUnit}`}`;
  };
  if (seconds < 10 * minute) return pair(minute, 'm', 1, 's');
  if (seconds < 3 * hour) return `${Math.floor(seconds / minute)}m`;
  if (seconds < 8 * hour) return pair(hour, 'h', minute, 'm');
  if (seconds < 2 * day) return `${Math.floor(seconds / hour)}h`;
  if (seconds < 8 * day) return pair(day, 'd', hour, 'h');
  if (seconds < 2 * 365 * day) return `${Math.floor(seconds / day)}d`;
  if (seconds < 8 * 365 * day) return pair(365 * day, 'y', day, 'd');
  return `${Math.floor(seconds / (365 * day))}y`;
}

/** The age since a time text; `<unknown>` when there is none. */
export function ageText(since: string | undefined | null, nowMs: number): string {
  if (since === undefined || since === null || since === '') return '<unknown>';
  return durationText(nowMs - Date.parse(since));
}

/** The object's name. */
export const nameColumn: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  cell: (object) => object.metadata.name,
};

/** The time since the object's creation, as kubectl writes ages. */
export const ageColumn: Column = {
  name: 'Age',
  type: 'string',
  cell: (object, now) => ageText(object.metadata.creationTimestamp, now),
};

/** The time of the object's creation. */
export const createdColumn: Column = {
  name: 'Created At',
  type: 'date',
  cell: (object) => object.metadata.creationTimestamp,
};

type Shape = { readonly type?: Column['type']; readonly wide?: boolean };

/** A column that reads one value. */
export const column = (name: string, cell: Column['cell'], shape: Shape = {}): Column => ({
  name,
  type: shape.type ?? 'string',
  ...(shape.wide === true ? { wide: true } : {}),
  cell,
});

/** The value as text, or `<none>`. */
export const orNone = (text: string): string => (text === '' ? '<none>' : text);
