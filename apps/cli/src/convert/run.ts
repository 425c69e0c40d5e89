import { isRecord } from '@dovetail/core-kube-model';

import { readManifests, standardInput } from '../manifests/files.js';
import { InputError } from '../manifests/input-error.js';
import { LineCounter, parseAsKubectl, stringify } from '../manifests/yaml.js';
import { convertValues } from './values.js';

type Output = { out(text: string): void; err(text: string): void };

/** The input of `convert`: a file of values, or `-`, and the region if no value names it. */
export type ConvertRequest = { readonly file: string; readonly region?: string };

/** Exit codes of `dovetail convert`. */
const convertExitCodes = { converted: 0, unusable: 64 } as const;

/** Prints the values of Dovetail's chart. Standard error gets a note for each one not taken. */
export function runConvert({ file, region }: ConvertRequest, output: Output): number {
  try {
    const { values, notes } = convertValues(valuesIn(file), region);
    output.out(stringify(values));
    for (const { path, text } of notes) output.err(`note: ${path}: ${text}\n`);
    return convertExitCodes.converted;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    output.err(`${error.text}\n`);
    return convertExitCodes.unusable;
  }
}

function valuesIn(file: string): Record<string, unknown> {
  const [text = ''] = readManifests([file]).values();
  const place = { file: file === '-' ? standardInput : file };
  const counter = new LineCounter();
  const document = parseAsKubectl(text, counter);
  const [error] = document.errors;
  if (error !== undefined)
    throw new InputError(`this is not valid YAML (${error.message}): correct the line`, {
      place: { ...place, line: counter.linePos(error.pos[0]).line },
      cause: error,
    });
  const values: unknown = document.toJS() ?? {};
  if (!isRecord(values))
    throw new InputError('this is no file of values: give what `helm get values` prints', {
      place,
    });
  return values;
}
