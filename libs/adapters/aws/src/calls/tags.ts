import type { Filter, Tag } from '@aws-sdk/client-ec2';
import type { Ec2Filter } from '@dovetail/core-ec2-model';
import { compareText } from '@dovetail/core-kube-model';

/** EC2 takes at most 200 values in one filter. */
export const filterValuesMax = 200;

/** Our filters in the SDK's spelling. */
export const filtersOf = (filters: readonly Ec2Filter[]): Filter[] =>
  filters.map(({ name, values }) => ({ Name: name, Values: [...values] }));

/** EC2's list of tags as a record. A tag without a value has the empty string. */
export const tagsOf = (tags: readonly Tag[] | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries(
    (tags ?? []).flatMap(({ Key, Value }) => (Key === undefined ? [] : [[Key, Value ?? '']])),
  );

/** A record of tags as EC2's list, sorted by key, so that equal records give equal requests. */
export const tagList = (
  tags: Readonly<Record<string, string>>,
): { readonly Key: string; readonly Value: string }[] =>
  Object.entries(tags)
    .sort(([a], [b]) => compareText(a, b))
    .map(([Key, Value]) => ({ Key, Value }));
