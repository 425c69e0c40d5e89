import { lookUp } from '@dovetail/core-invariant';
import { isRecord, recordOf } from '@dovetail/core-kube-model';

import { type FieldError, invalidValue, requiredValue } from '../model/errors.js';
import { listOf, textOf } from '../model/json.js';
import { type StoredObject, timeText } from '../model/objects.js';
import { ruleErrors } from '../schema/cel.js';
import { schemaFromOpenApi } from '../schema/custom-schema.js';
import type { Strategy, StrategyContext } from '../store/strategy.js';

function defaults(object: StoredObject): StoredObject {
  const spec = recordOf(object['spec']);
  const names = recordOf(spec['names']);
  const kind = textOf(names['kind']);
  return {
    ...object,
    spec: {
      conversion: { strategy: 'None' },
      ...spec,
      names: { singular: kind.toLowerCase(), listKind: `${kind}List`, ...names },
    },
  };
}

/** A definition is established at once, because no other controller checks its names. */
function prepareCreate(object: StoredObject, context: StrategyContext): StoredObject {
  const spec = recordOf(object['spec']);
  const lastTransitionTime = timeText(context.clock.nowMs());
  const versions = listOf(spec['versions']).map(recordOf);
  const conditions = [
    {
      type: 'NamesAccepted',
      status: 'True',
      reason: 'NoConflicts',
      message: 'no conflicts found',
      lastTransitionTime,
    },
    {
      type: 'Established',
      status: 'True',
      reason: 'InitialNamesAccepted',
      message: 'the initial names have been accepted',
      lastTransitionTime,
    },
  ];
  return {
    ...object,
    status: {
      conditions,
      acceptedNames: spec['names'],
      storedVersions: versions
        .filter((version) => version['storage'] === true)
        .map((version) => version['name']),
    },
  };
}

function versionErrors(
  field: string,
  version: Readonly<Record<string, unknown>>,
): readonly FieldError[] {
  const openApi = recordOf(version['schema'])['openAPIV3Schema'];
  if (!isRecord(openApi))
    return [requiredValue(`${field}.schema.openAPIV3Schema`, 'schemas are required')];
  const path = `${field}.schema.openAPIV3Schema`;
  if (textOf(openApi['type']) !== 'object')
    return [invalidValue(`${path}.type`, openApi['type'] ?? '', 'must be object at the root')];
  return ruleErrors(path, schemaFromOpenApi(openApi));
}

function validate(object: StoredObject): readonly FieldError[] {
  const spec = recordOf(object['spec']);
  const names = recordOf(spec['names']);
  const wanted = `${textOf(names['plural'])}.${textOf(spec['group'])}`;
  const errors: FieldError[] = [];
  if (object.metadata.name !== wanted)
    errors.push(
      invalidValue(
        'metadata.name',
        object.metadata.name,
        `must be spec.names.plural+"."+spec.group`,
      ),
    );
  for (const field of ['plural', 'kind'])
    if (textOf(lookUp(names, field)) === '') errors.push(requiredValue(`spec.names.${field}`));
  const versions = listOf(spec['versions']).map(recordOf);
  if (versions.filter((version) => version['storage'] === true).length !== 1)
    errors.push(
      invalidValue(
        'spec.versions',
        versions.length,
        'must have exactly one version marked as storage version',
      ),
    );
  versions.forEach((version, index) =>
    errors.push(...versionErrors(`spec.versions[${index}]`, version)),
  );
  return errors;
}

/** CustomResourceDefinitions. */
export const customDefinitionStrategy: Strategy = {
  defaults,
  prepareCreate,
  validate: (object) => validate(object),
};
