import { lookUp } from '@dovetail/core-invariant';
import { type Raw, recordOf } from '@dovetail/core-kube-model';

import { listOf, textOf } from '../model/json.js';
import type { StoredObject } from '../model/objects.js';
import type { Subresource } from '../model/served-resources.js';
import { schemaFromOpenApi } from '../schema/custom-schema.js';
import { type PrinterColumn, type ResourceType, type ScalePaths, tableName } from './registry.js';
import type { StoreState } from './state.js';

const texts = (value: unknown): readonly string[] =>
  listOf(value).filter((item): item is string => typeof item === 'string');

function versionType(spec: Raw, version: Raw): ResourceType {
  const names = recordOf(spec['names']);
  const group = textOf(spec['group']);
  const plural = textOf(names['plural']);
  const subresources = recordOf(version['subresources']);
  const served: Subresource[] = ['status', 'scale'].filter(
    (one): one is 'status' | 'scale' => lookUp(subresources, one) !== undefined,
  );
  const columns = listOf(version['additionalPrinterColumns']);
  return {
    group,
    version: textOf(version['name']),
    kind: textOf(names['kind']),
    listKind: textOf(names['listKind']),
    plural,
    singular: textOf(names['singular']),
    shortNames: texts(names['shortNames']),
    categories: texts(names['categories']),
    namespaced: spec['scope'] === 'Namespaced',
    subresources: served,
    generation: true,
    fields: listOf(version['selectableFields']).map((field) =>
      textOf(recordOf(field)['jsonPath']).replace(/^\./, ''),
    ),
    table: tableName(group, plural),
    custom: true,
    schema: schemaFromOpenApi(recordOf(recordOf(version['schema'])['openAPIV3Schema'])),
    ...(columns.length === 0 ? {} : { columns: columns as readonly PrinterColumn[] }),
    ...(subresources['scale'] === undefined ? {} : { scale: subresources['scale'] as ScalePaths }),
  };
}

/** The resources that a CustomResourceDefinition serves, one a served version. */
function typesOf(definition: StoredObject): readonly ResourceType[] {
  const spec = recordOf(definition['spec']);
  return listOf(spec['versions'])
    .map(recordOf)
    .filter((version) => version['served'] === true)
    .map((version) => versionType(spec, version));
}

/**
 * Serves custom resources as their definitions come, change and go. Objects are deleted with their
 * definition.
 */
export function followDefinitions(state: StoreState): void {
  state.subscribe((change) => {
    if (change.table !== 'customresourcedefinitions.apiextensions.k8s.io') return;
    const spec = recordOf(change.object['spec']);
    const plural = textOf(recordOf(spec['names'])['plural']);
    state.registry.removeCustom(textOf(spec['group']), plural);
    if (change.kind !== 'deleted') {
      for (const type of typesOf(change.object)) state.registry.add(type);
      return;
    }
    const table = tableName(textOf(spec['group']), plural);
    for (const object of [...state.table(table).values()])
      state.commit({ kind: 'deleted', table, object, before: object });
  });
}
