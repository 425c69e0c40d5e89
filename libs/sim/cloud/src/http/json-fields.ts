import { lookUp } from '@dovetail/core-invariant';

import { AwsFault, NotServedFault } from '../foundation/aws-fault.js';
import type { JsonObject } from './operation.js';

const invalid = (message: string): AwsFault => new AwsFault('ValidationException', message);

/** A text member; undefined when absent. */
export function textIn(input: JsonObject, name: string): string | undefined {
  const value = lookUp(input, name);
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw invalid(`${name}: ${JSON.stringify(value)} is not a string`);
  return value;
}

/** A text member that must be there. */
export function requiredText(input: JsonObject, name: string): string {
  const value = textIn(input, name);
  if (value === undefined || value === '') throw invalid(`${name} is required`);
  return value;
}

/** A whole number; undefined when absent. */
export function integerIn(input: JsonObject, name: string): number | undefined {
  const value = lookUp(input, name);
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !Number.isInteger(value))
    throw invalid(`${name}: ${JSON.stringify(value)} is not a whole number`);
  return value;
}

/** A whole number that must be there. */
export function requiredInteger(body: JsonObject, name: string): number {
  const value = integerIn(body, name);
  if (value === undefined) throw invalid(`${name} is required`);
  return value;
}

/** A text member that is one of these; undefined when absent. */
export function oneOf<T extends string>(
  body: JsonObject,
  name: string,
  allowed: readonly T[],
): T | undefined {
  const value = textIn(body, name);
  if (value === undefined) return undefined;
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw invalid(`${name}: ${value} is not one of ${allowed.join(', ')}`);
  return found;
}

/** A list of texts; empty when absent. */
export function textsIn(input: JsonObject, name: string): readonly string[] {
  const value = lookUp(input, name);
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
    throw invalid(`${name} is not a list of strings`);
  return value;
}

/** A list of objects; empty when absent. */
export function objectsIn(input: JsonObject, name: string): readonly JsonObject[] {
  const value = lookUp(input, name);
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || !value.every((item) => item !== null && typeof item === 'object'))
    throw invalid(`${name} is not a list of objects`);
  return value as readonly JsonObject[];
}

/** Refuses members that no operation reads: AWS would act on them and the twin does not. */
export function refuseOthers(input: JsonObject, known: readonly string[]): void {
  const other = Object.keys(input).find((name) => !known.includes(name));
  if (other !== undefined)
    throw new NotServedFault(
      'ValidationException',
      `${other} is not served here; served: ${known.join(', ')}`,
    );
}
