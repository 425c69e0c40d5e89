import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { KubeObject, KubeResource } from '@dovetail/core-ports';
import { parse } from 'yaml';

/** CustomResourceDefinitions, as the API server of a bare cluster serves them. */
export const customResourceDefinitions: KubeResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};

type DefinitionFile = { readonly file: string; readonly object: KubeObject };
const folder = join(import.meta.dirname, '../../../../deploy/crds');
let read: readonly DefinitionFile[] | undefined;

/**
 * The definitions in deploy/crds, by file name. Read once: parsing them is slower than most tests.
 */
export function crdFiles(): readonly DefinitionFile[] {
  read ??= readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .sort()
    .map((file) => ({
      file,
      object: parse(readFileSync(join(folder, file), 'utf8')) as KubeObject,
    }));
  return read;
}
