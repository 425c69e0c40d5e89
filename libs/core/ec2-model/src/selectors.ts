import type { SelectorTerm } from '@dovetail/core-api';
import type { Ec2Filter } from './cloud-values.js';
import { compareCodeUnits } from './order.js';

/** Filters for one describe call: all of them together. */
export type FilterQuery = readonly Ec2Filter[];

/** Tags as filters, by key. `*` stands for any value, and a pattern with `*` for what it matches: EC2's own filter syntax. */
export const tagFilters = (tags: Readonly<Record<string, string>>): FilterQuery =>
  Object.keys(tags).sort(compareCodeUnits).map((key) => ({ name: `tag:${key}`, values: [tags[key] ?? ''] }));

/**
 * The describe calls whose results together are a class' subnets: all ids in one, each term of tags in its own
 * (terms are alternatives, a term's tags a conjunction). No terms: no calls, so that nothing is selected by accident.
 */
export const subnetFilters = (terms: readonly SelectorTerm[]): readonly FilterQuery[] => queriesOf(terms, { id: 'subnet-id' });

/** As `subnetFilters`, for security groups; a term may also name a group. */
export const securityGroupFilters = (terms: readonly SelectorTerm[]): readonly FilterQuery[] => queriesOf(terms, { id: 'group-id', name: 'group-name' });

function queriesOf(terms: readonly SelectorTerm[], filters: { readonly id: string; readonly name?: string }): readonly FilterQuery[] {
  const together = (name: string | undefined, pick: (term: SelectorTerm) => string | undefined): readonly FilterQuery[] => {
    const values = [...new Set(terms.flatMap((term) => pick(term) ?? []))].sort(compareCodeUnits);
    return name === undefined || values.length === 0 ? [] : [[{ name, values }]];
  };
  const byTags = terms.filter((term) => term.id === undefined && term.tags !== undefined && Object.keys(term.tags).length > 0);
  return [
    ...together(filters.id, (term) => term.id),
    // A name beside tags narrows that term, so only bare names can share a call.
    ...together(filters.name, (term) => (term.id === undefined && !byTags.includes(term) ? term.name : undefined)),
    ...byTags.map((term) => [
      ...(filters.name !== undefined && term.name !== undefined ? [{ name: filters.name, values: [term.name] }] : []),
      ...tagFilters(term.tags ?? {}),
    ]),
  ];
}
