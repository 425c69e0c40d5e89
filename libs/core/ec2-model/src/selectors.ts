import type { SelectorTerm } from '@dovetail/core-api';
import { lookUp } from '@dovetail/core-invariant';
import { compareText } from '@dovetail/core-kube-model';

import type { Ec2Filter } from './cloud-values.js';

/** The filters of one describe call, which hold together. */
export type FilterQuery = readonly Ec2Filter[];

/**
 * Writes tags as filters, by key. The value `*` asks for the key alone, as Karpenter does, which
 * also finds a tag with an empty value.
 */
export const tagFilters = (tags: Readonly<Record<string, string>>): FilterQuery =>
  Object.keys(tags)
    .sort(compareText)
    .map((key) =>
      lookUp(tags, key) === '*'
        ? { name: 'tag-key', values: [key] }
        : { name: `tag:${key}`, values: [lookUp(tags, key) ?? ''] },
    );

/**
 * The describe calls whose results together are a class' subnets: one for all ids, and one for each
 * term of tags. Terms are alternatives, and the tags of a term hold together. Without terms there
 * are no calls, so nothing is selected by accident.
 */
export const subnetFilters = (terms: readonly SelectorTerm[]): readonly FilterQuery[] =>
  queriesOf(terms, { id: 'subnet-id' });

/** As `subnetFilters`, for security groups; a term may also name a group. */
export const securityGroupFilters = (terms: readonly SelectorTerm[]): readonly FilterQuery[] =>
  queriesOf(terms, { id: 'group-id', name: 'group-name' });

function queriesOf(
  terms: readonly SelectorTerm[],
  filters: { readonly id: string; readonly name?: string },
): readonly FilterQuery[] {
  const together = (
    name: string | undefined,
    pick: (term: SelectorTerm) => string | undefined,
  ): readonly FilterQuery[] => {
    const values = [...new Set(terms.flatMap((term) => pick(term) ?? []))].sort(compareText);
    return name === undefined || values.length === 0 ? [] : [[{ name, values }]];
  };
  const byTags = terms.filter(
    (term) => term.id === undefined && term.tags !== undefined && Object.keys(term.tags).length > 0,
  );
  return [
    ...together(filters.id, (term) => term.id),
    // A name beside tags narrows that term, so only terms with a name alone share a call.
    ...together(filters.name, (term) =>
      term.id === undefined && !byTags.includes(term) ? term.name : undefined,
    ),
    ...byTags.map((term) => [
      ...(filters.name !== undefined && term.name !== undefined
        ? [{ name: filters.name, values: [term.name] }]
        : []),
      ...tagFilters(term.tags ?? {}),
    ]),
  ];
}
