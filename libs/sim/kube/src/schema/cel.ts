import type { FieldError } from '../errors.js';
import type { Stored } from '../model.js';
import type { Schema } from './schema.js';

export function ruleErrors(_path: string, _schema: Schema): readonly FieldError[] {
  return [];
}
export function celErrors(_schema: Schema, _object: Stored, _before: Stored | undefined): readonly FieldError[] {
  return [];
}
