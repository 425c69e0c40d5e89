import { isRecord } from '@dovetail/core-kube-model';

import { slowYaml } from '../manifests/documents.js';
import { readManifests, standardInput } from '../manifests/files.js';
import { InputError } from '../manifests/input-error.js';
import { stringify } from '../manifests/yaml.js';
import { convertValues } from './values.js';

type Output = { out(text: string): void; err(text: string): void };

/** The input of `convert`: a file of values, or `-`, and the region if no value names it. */
export type ConvertRequest = { readonly file: string; readonly region?: string };

/** Exit codes of `dovetail convert`. */
const convertExitCodes = { converted: 0, unusable: 64 } as const;

/** Prints the values of Dovetail's chart. Standard error gets a note for each one not taken. */
export async function runConvert(
  { file, region }: ConvertRequest,
  output: Output,
): Promise<number> {
  try {
    const { values, notes } = convertValues(await valuesIn(file), region);
    output.out(stringify(values));
    for (const { path, text } of notes) output.err(`note: ${path}: ${text}\n`);
    return convertExitCodes.converted;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    output.err(`${error.text}\n`);
    return convertExitCodes.unusable;
  }
}

async function valuesIn(file: string): Promise<Record<string, unknown>> {
  const [text = ''] = readManifests([file]).values();
  const name = file === '-' ? standardInput : file;
  const values = (await slowYaml(name, { line: 1, text })) ?? {};
  if (!isRecord(values))
    throw new InputError('this is no file of values: give what `helm get values` prints', {
      place: { file: name },
    });
  return values;
}
