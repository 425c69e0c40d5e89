import { awsLabels } from '@dovetail/core-api';

import type { Schema } from './schema.js';
import {
  atomicListOf,
  described,
  fields,
  int32,
  mapOf,
  quantity,
  rules,
  text,
  words,
} from './schema.js';

const domain = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*';
const qualifiedName = `^(${domain}\\/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`;
const labelValue = '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$';

const quoted = (keys: readonly string[]): string => `[${keys.map((key) => `'${key}'`).join(', ')}]`;
const poolKeys = ['karpenter.sh/nodepool', 'karpenter.sh/provisioner-name'];

type KeyRule = readonly [rule: string, message: string];

/** Rules on the labels that users may set. `key` is the CEL expression for one label key. */
const keyRules = (
  key: string,
  options: { readonly poolKeys: 'allowed' | 'refused' },
): readonly KeyRule[] => [
  [
    `${key} in ${quoted(['karpenter.sh/capacity-type', ...poolKeys])} || !${key}.matches('^[^/]*karpenter[.]sh(/|$)')`,
    'label domain "karpenter.sh" is restricted',
  ],
  ...(options.poolKeys === 'allowed'
    ? []
    : poolKeys.map((pool): KeyRule => [`${key} != '${pool}'`, `label "${pool}" is restricted`])),
  [`${key} != 'kubernetes.io/hostname'`, 'label "kubernetes.io/hostname" is restricted'],
  [
    `${key} in ${quoted(awsLabels)} || !${key}.matches('^[^/]*karpenter[.]k8s[.]aws(/|$)')`,
    'label domain "karpenter.k8s.aws" is restricted',
  ],
];

/** Labels that people give to nodes. */
export const nodeLabels = (): Schema =>
  described(
    'Labels that the nodes carry.',
    mapOf(text({ maxLength: 63, pattern: labelValue }), {
      maxProperties: 100,
      ...rules(
        ...keyRules('key', { poolKeys: 'refused' }).map(([rule, message]): KeyRule => [
          `self.all(key, ${rule})`,
          message,
        ]),
      ),
    }),
  );

/** Taints of nodes. */
export const taints = (description: string): Schema =>
  described(
    description,
    atomicListOf(
      fields({
        'key!': text({ minLength: 1, pattern: qualifiedName }),
        value: text({ pattern: labelValue }),
        'effect!': words('NoSchedule', 'PreferNoSchedule', 'NoExecute'),
        timeAdded: { type: 'string', format: 'date-time' },
      }),
    ),
  );

const integerOperators = quoted(['Gt', 'Lt', 'Gte', 'Lte']);

/**
 * Requirements on a node's labels. int() reads a bound, because values have no greatest length and
 * the API server would refuse a pattern's cost. Text that is no number fails that conversion, and
 * the rule with it.
 */
export const requirements = (options: { readonly poolKeys: 'allowed' | 'refused' }): Schema =>
  described(
    'Requirements that the labels of the nodes meet, all of them together.',
    atomicListOf(
      fields({
        'key!': text({
          maxLength: 316,
          pattern: qualifiedName,
          ...rules(...keyRules('self', options)),
        }),
        'operator!': words('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte'),
        values: atomicListOf(text()),
        minValues: described(
          'How many different values must stay possible.',
          int32({ minimum: 1, maximum: 50 }),
        ),
      }),
      {
        maxItems: 100,
        ...rules(
          [
            "self.all(x, x.operator != 'In' || (has(x.values) && size(x.values) > 0))",
            "requirements with operator 'In' must have a value defined",
          ],
          [
            `self.all(x, !(x.operator in ${integerOperators}) || (has(x.values) && size(x.values) == 1 && int(x.values[0]) >= 0))`,
            "requirements operator 'Gt', 'Lt', 'Gte' or 'Lte' must have a single positive integer value",
          ],
          [
            "self.all(x, !(x.operator == 'In' && has(x.minValues)) || (has(x.values) && size(x.values) >= x.minValues))",
            "requirements with 'minValues' must have at least that many values specified in the 'values' field",
          ],
        ),
      },
    ),
  );

/** Amounts by resource name. */
export const resourceList = (description: string, more: Schema = {}): Schema =>
  described(description, mapOf(quantity(), more));

/** A reference to a node class in full. */
export const classRef = (options: { readonly immutable: 'group-and-kind' | 'by-owner' }): Schema =>
  described(
    'The class that says how the nodes boot.',
    fields(
      {
        'group!': text({ pattern: '^[^/]*$', ...rules(["self != ''", 'group may not be empty']) }),
        'kind!': text(rules(["self != ''", 'kind may not be empty'])),
        'name!': text(rules(["self != ''", 'name may not be empty'])),
      },
      options.immutable === 'by-owner'
        ? {}
        : rules(
            ['self.group == oldSelf.group', 'nodeClassRef.group is immutable'],
            ['self.kind == oldSelf.kind', 'nodeClassRef.kind is immutable'],
          ),
    ),
  );

/** A duration or `Never`, with its default. */
export const durationOrNever = (description: string, byDefault: string): Schema =>
  described(description, text({ pattern: '^(([0-9]+(s|m|h))+|Never)$', default: byDefault }));

/** A duration in seconds, minutes and hours. */
export const duration = (description: string): Schema =>
  described(description, text({ pattern: '^([0-9]+(s|m|h))+$' }));
