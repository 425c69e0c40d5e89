import { type FieldError, invalidValue, requiredValue } from '../model/errors.js';
import type { StoredObject } from '../model/objects.js';
import type { Strategy } from './strategy.js';

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain = `${label}(\\.${label})*`;
const subdomainPattern = new RegExp(`^${subdomain}$`);
const labelPattern = new RegExp(`^${label}$`);
const qualifiedName = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const valuePattern = new RegExp(`^(${qualifiedName})?$`);
const keyPattern = new RegExp(`^${qualifiedName}$`);

const subdomainWords = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${subdomain}')`;
const labelWords = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`;
const valueWords = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(${qualifiedName})?')`;
const keyWords = `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${qualifiedName}')`;

function nameErrors(name: string, rule: Strategy['names']): readonly FieldError[] {
  if (rule === 'path') {
    return name === '.' || name === '..' || /[/%]/.test(name)
      ? [invalidValue('metadata.name', name, "may not be '.' or '..' or contain '/' or '%'")]
      : [];
  }
  const max = rule === 'label' ? 63 : 253;
  if (name.length > max)
    return [invalidValue('metadata.name', name, `must be no more than ${max} characters`)];
  if (rule === 'label')
    return labelPattern.test(name) ? [] : [invalidValue('metadata.name', name, labelWords)];
  return subdomainPattern.test(name) ? [] : [invalidValue('metadata.name', name, subdomainWords)];
}

function keyErrors(field: string, key: string): readonly FieldError[] {
  const slash = key.indexOf('/');
  const prefix = slash < 0 ? undefined : key.slice(0, slash);
  const name = key.slice(slash + 1);
  const errors: FieldError[] = [];
  if (prefix !== undefined && !subdomainPattern.test(prefix))
    errors.push(invalidValue(field, key, `prefix part ${subdomainWords}`));
  if (name.length > 63)
    errors.push(invalidValue(field, key, 'name part must be no more than 63 characters'));
  else if (!keyPattern.test(name)) errors.push(invalidValue(field, key, keyWords));
  return errors;
}

/** The errors of a set of labels, under the field's path. */
export function labelErrors(
  field: string,
  labels: Readonly<Record<string, string>> | undefined,
): readonly FieldError[] {
  return Object.entries(labels ?? {}).flatMap(([key, value]) => {
    const ofValue =
      value.length > 63
        ? [invalidValue(field, value, 'must be no more than 63 bytes')]
        : valuePattern.test(value)
          ? []
          : [invalidValue(field, value, valueWords)];
    return [...keyErrors(field, key), ...ofValue];
  });
}

/** The errors of an object's metadata. */
export function metadataErrors(
  object: StoredObject,
  rule: Strategy['names'],
): readonly FieldError[] {
  const { name, labels, annotations, finalizers, ownerReferences } = object.metadata;
  if (name === '') return [requiredValue('metadata.name', 'name or generateName is required')];
  const errors = [...nameErrors(name, rule), ...labelErrors('metadata.labels', labels)];
  for (const key of Object.keys(annotations ?? {}))
    errors.push(...keyErrors('metadata.annotations', key.toLowerCase()));
  for (const finalizer of finalizers ?? [])
    errors.push(...keyErrors('metadata.finalizers', finalizer));
  (ownerReferences ?? []).forEach((owner, index) => {
    for (const field of ['apiVersion', 'kind', 'name', 'uid'] as const) {
      if (owner[field] === undefined || owner[field] === '')
        errors.push(
          invalidValue(
            `metadata.ownerReferences[${index}].${field}`,
            '',
            `${field === 'apiVersion' ? 'version' : field} must not be empty`,
          ),
        );
    }
  });
  return errors;
}
