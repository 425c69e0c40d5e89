import { lookUp, put } from '@dovetail/core-invariant';
import { Malformed, readTextMap, withoutNulls } from '@dovetail/core-kube-model';

import type { AmiSelectorTerm, SelectorTerm } from '../node-class.js';

/**
 * The most terms of one legacy selector. Each costs a call to EC2, so it trades reach against
 * calls.
 */
const termsMax = 100;

const split = (text: string): readonly string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

type Choice = { readonly name: string; readonly values: readonly string[] };

/** All combinations of one value of each choice, in order. */
function combinations(
  choices: readonly Choice[],
  field: string,
): readonly Readonly<Record<string, string>>[] {
  let all: readonly Readonly<Record<string, string>>[] = [{}];
  for (const { name, values } of choices) {
    if (all.length * values.length > termsMax)
      throw new Malformed(
        field,
        `${all.length * values.length} combinations`,
        `list fewer values: at most ${termsMax} combinations`,
      );
    all = all.flatMap((known) => values.map((value) => ({ ...known, [name]: value })));
  }
  return all;
}

type Special = 'id' | 'name' | 'owner';
const specialKeys: Readonly<Record<string, Special>> = {
  'aws-ids': 'id',
  'aws::ids': 'id',
  'aws::name': 'name',
  'aws::owners': 'owner',
};

/**
 * Reads a legacy selector as terms. All its entries hold together, and the comma-separated values
 * of one entry are alternatives, so the terms are their combinations. `aws-ids` and `aws::ids`
 * select by id, and `*` means any value.
 */
function readLegacySelector(
  raw: unknown,
  field: string,
  specials: readonly Special[],
): readonly AmiSelectorTerm[] {
  const map = readTextMap(withoutNulls(raw), field);
  const choices: Choice[] = [];
  for (const key of Object.keys(map).sort()) {
    const special = lookUp(specialKeys, key);
    if (key === '')
      throw new Malformed(field, map, 'a selector needs tag keys: remove the empty one');
    if (special === undefined && key.startsWith('aws::'))
      throw new Malformed(
        `${field}.${key}`,
        lookUp(map, key),
        `write one of ${Object.keys(specialKeys).join(', ')}, or a tag`,
      );
    if (special !== undefined && !specials.includes(special))
      throw new Malformed(
        `${field}.${key}`,
        lookUp(map, key),
        'this key does not select here: remove it',
      );
    const values = split(lookUp(map, key) ?? '');
    if (values.length === 0)
      throw new Malformed(`${field}.${key}`, lookUp(map, key), 'write a value; "*" is any');
    choices.push({ name: special === undefined ? `tag:${key}` : special, values });
  }
  if (choices.length === 0) return [];
  return combinations(choices, field).map(termOf);
}

function termOf(combination: Readonly<Record<string, string>>): AmiSelectorTerm {
  const tags: Record<string, string> = {};
  const term: { id?: string; name?: string; owner?: string } = {};
  for (const [name, value] of Object.entries(combination)) {
    if (name === 'id' || name === 'name' || name === 'owner') term[name] = value;
    else put(tags, name.slice('tag:'.length), value);
  }
  return { ...term, ...(Object.keys(tags).length === 0 ? {} : { tags }) };
}

/** Reads `subnetSelector` or `securityGroupSelector`: tags and ids. */
export const readResourceSelector = (raw: unknown, field: string): readonly SelectorTerm[] =>
  readLegacySelector(raw, field, ['id']);

/** Reads `amiSelector`: tags, ids, names and owners. Empty when it is absent. */
export const readAmiSelector = (raw: unknown, field: string): readonly AmiSelectorTerm[] =>
  readLegacySelector(raw, field, ['id', 'name', 'owner']);
