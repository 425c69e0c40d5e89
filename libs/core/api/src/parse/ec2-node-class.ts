import { lookUp } from '@dovetail/core-invariant';
import type { Parsed, Raw } from '@dovetail/core-kube-model';
import {
  Malformed,
  optional,
  parsed,
  readEach,
  readFlag,
  readList,
  readMeta,
  readObject,
  readOneOf,
  readRecord,
  readText,
  readTextMap,
  withoutNulls,
} from '@dovetail/core-kube-model';

import { karpenterClassHash } from '../karpenter-hash.js';
import {
  aliasFamilies,
  type AmiFamily,
  type AmiSelectorTerm,
  type NodeClass,
  type SelectorTerm,
} from '../node-class.js';
import {
  readBlockDevices,
  readClassStatus,
  readMetadataOptions,
  readTags,
} from './class-fields.js';
import { conditionIsTrue, readConditions } from './fields.js';
import { readOpenKubelet } from './kubelet.js';
import { refuseUnsupported } from './unsupported.js';

const families: readonly AmiFamily[] = [
  'AL2',
  'AL2023',
  'Bottlerocket',
  'Custom',
  'Windows2019',
  'Windows2022',
  'Windows2025',
];

function readTermTags(item: Raw, path: string): Readonly<Record<string, string>> | undefined {
  if (item['tags'] === undefined || item['tags'] === null) return undefined;
  const tags = readTextMap(withoutNulls(item['tags']), `${path}.tags`);
  const empty = Object.keys(tags).find((key) => key === '' || lookUp(tags, key) === '');
  if (empty !== undefined)
    throw new Malformed(
      `${path}.tags`,
      tags,
      'write a key and a value for each tag; "*" is any value',
    );
  if (Object.keys(tags).length > 20)
    throw new Malformed(
      `${path}.tags`,
      `${Object.keys(tags).length} tags`,
      'write at most 20 tags',
    );
  return tags;
}

type TermRules = {
  readonly idPattern: RegExp;
  readonly idExample: string;
  readonly fields: readonly (keyof AmiSelectorTerm)[];
};

function readTerm(item: Raw, path: string, rules: TermRules): AmiSelectorTerm {
  const text = (name: keyof AmiSelectorTerm): string | undefined =>
    rules.fields.includes(name) ? readText(item[name], `${path}.${name}`) || undefined : undefined;
  const term: AmiSelectorTerm = {
    ...optional('tags', readTermTags(item, path)),
    ...optional('id', text('id')),
    ...optional('name', text('name')),
    ...optional('alias', text('alias')),
    ...optional('owner', text('owner')),
    ...optional('ssmParameter', text('ssmParameter')),
  };
  if (term.id !== undefined && !rules.idPattern.test(term.id))
    throw new Malformed(`${path}.id`, term.id, `write an id such as ${rules.idExample}`);
  if (rules.fields.every((name) => name === 'owner' || term[name] === undefined))
    throw new Malformed(
      path,
      item,
      `write ${rules.fields.filter((name) => name !== 'owner').join(', ')}: a term that selects by nothing selects too much`,
    );
  return term;
}

function readTerms(raw: unknown, field: string, rules: TermRules): readonly AmiSelectorTerm[] {
  const count = readList(raw, field).length;
  if (count < 1 || count > 30) throw new Malformed(field, `${count} terms`, 'write 1 to 30 terms');
  return readEach(raw, field, (item, path) => readTerm(item, path, rules));
}

const subnetRules: TermRules = {
  idPattern: /subnet-[0-9a-z]+/,
  idExample: 'subnet-0123456789abcdef0',
  fields: ['tags', 'id'],
};
const groupRules: TermRules = {
  idPattern: /sg-[0-9a-z]+/,
  idExample: 'sg-0123456789abcdef0',
  fields: ['tags', 'id', 'name'],
};
const amiRules: TermRules = {
  idPattern: /ami-[0-9a-z]+/,
  idExample: 'ami-0123456789abcdef0',
  fields: ['tags', 'id', 'name', 'alias', 'owner', 'ssmParameter'],
};

/**
 * Refuses terms that select by id (or name) and by something else. As in the CRD's schema, only
 * when every term does.
 */
function checkAllExclusive(
  terms: readonly SelectorTerm[],
  field: string,
  exclusive: 'id' | 'name',
): void {
  const mixed = (term: SelectorTerm): boolean =>
    term[exclusive] !== undefined &&
    (['tags', 'id', 'name'] as const).some(
      (other) => other !== exclusive && term[other] !== undefined,
    );
  if (terms.length > 0 && terms.every(mixed))
    throw new Malformed(
      field,
      terms,
      `${exclusive} stands alone in a term: move the rest into other terms`,
    );
}

function checkAmiTerms(terms: readonly AmiSelectorTerm[], field: string): void {
  const others: readonly (keyof AmiSelectorTerm)[] = ['tags', 'name', 'owner'];
  terms.forEach((term, index) => {
    const path = `${field}[${index}]`;
    if (
      term.id !== undefined &&
      [...others, 'alias' as const].some((name) => term[name] !== undefined)
    )
      throw new Malformed(path, term, 'id stands alone in a term: move the rest into other terms');
    if (term.alias === undefined) return;
    if (others.some((name) => term[name] !== undefined))
      throw new Malformed(
        path,
        term,
        'alias stands alone in a term: move the rest into other terms',
      );
    if (terms.length > 1)
      throw new Malformed(
        field,
        terms,
        'with an alias there can be no other term: remove the others or the alias',
      );
    readAliasFamily(term.alias, `${path}.alias`);
  });
}

function readAliasFamily(alias: string, field: string): AmiFamily {
  const match = /^([a-zA-Z0-9]+)@(.+)$/.exec(alias);
  const family = lookUp(aliasFamilies, match?.[1]?.toLowerCase() ?? '');
  if (match === null || family === undefined)
    throw new Malformed(
      field,
      alias,
      `write family@version, such as al2023@latest; families are ${Object.keys(aliasFamilies).join(', ')}`,
    );
  if (family.startsWith('Windows') && match[2] !== 'latest')
    throw new Malformed(field, alias, 'Windows images are only known as @latest');
  return family;
}

function readFamily(spec: Raw, terms: readonly AmiSelectorTerm[]): AmiFamily {
  const alias = terms.find((term) => term.alias !== undefined)?.alias;
  const implied =
    alias === undefined ? undefined : readAliasFamily(alias, 'spec.amiSelectorTerms[0].alias');
  if (spec['amiFamily'] === undefined || spec['amiFamily'] === null) {
    if (implied === undefined)
      throw new Malformed(
        'spec.amiFamily',
        undefined,
        'write the family of the selected images, or select them by alias',
      );
    return implied;
  }
  const family = readOneOf(spec['amiFamily'], 'spec.amiFamily', families);
  if (implied !== undefined && family !== implied && family !== 'Custom')
    throw new Malformed(
      'spec.amiFamily',
      family,
      `write ${implied}, which the alias means, or Custom, or remove it`,
    );
  return family;
}

function readIdentity(spec: Raw): Pick<NodeClass, 'role' | 'instanceProfile'> {
  const role = readText(spec['role'], 'spec.role');
  const instanceProfile = readText(spec['instanceProfile'], 'spec.instanceProfile');
  if (role === '')
    throw new Malformed('spec.role', role, 'write the name of an IAM role, or remove the field');
  if (instanceProfile === '')
    throw new Malformed(
      'spec.instanceProfile',
      instanceProfile,
      'write the name of an instance profile, or remove the field',
    );
  if ((role === undefined) === (instanceProfile === undefined))
    throw new Malformed('spec.role', role, 'write exactly one of role and instanceProfile');
  return { ...optional('role', role), ...optional('instanceProfile', instanceProfile) };
}

type Selection = Pick<
  NodeClass,
  'subnetSelectorTerms' | 'securityGroupSelectorTerms' | 'amiSelectorTerms' | 'amiFamily'
>;

function readSelection(spec: Raw): Selection {
  const subnetSelectorTerms = readTerms(
    spec['subnetSelectorTerms'],
    'spec.subnetSelectorTerms',
    subnetRules,
  );
  checkAllExclusive(subnetSelectorTerms, 'spec.subnetSelectorTerms', 'id');
  const securityGroupSelectorTerms = readTerms(
    spec['securityGroupSelectorTerms'],
    'spec.securityGroupSelectorTerms',
    groupRules,
  );
  checkAllExclusive(securityGroupSelectorTerms, 'spec.securityGroupSelectorTerms', 'id');
  checkAllExclusive(securityGroupSelectorTerms, 'spec.securityGroupSelectorTerms', 'name');
  const amiSelectorTerms = readTerms(spec['amiSelectorTerms'], 'spec.amiSelectorTerms', amiRules);
  checkAmiTerms(amiSelectorTerms, 'spec.amiSelectorTerms');
  return {
    subnetSelectorTerms,
    securityGroupSelectorTerms,
    amiSelectorTerms,
    amiFamily: readFamily(spec, amiSelectorTerms),
  };
}

type Settings = Pick<
  NodeClass,
  | 'userData'
  | 'tags'
  | 'kubelet'
  | 'blockDeviceMappings'
  | 'instanceStorePolicy'
  | 'detailedMonitoring'
  | 'metadataOptions'
  | 'associatePublicIpAddress'
  | 'context'
>;

/** Reads how instances of the class are set up, apart from their images and networks. */
function readSettings(spec: Raw): Settings {
  return {
    ...optional('userData', readText(spec['userData'], 'spec.userData')),
    tags: readTags(spec['tags'], 'spec.tags'),
    kubelet: readOpenKubelet(spec['kubelet'], 'spec.kubelet'),
    blockDeviceMappings: readBlockDevices(spec['blockDeviceMappings'], 'spec.blockDeviceMappings'),
    ...optional('instanceStorePolicy', readInstanceStorePolicy(spec)),
    detailedMonitoring: readFlag(spec['detailedMonitoring'], 'spec.detailedMonitoring') ?? false,
    metadataOptions: readMetadataOptions(spec['metadataOptions'], 'spec.metadataOptions', 1),
    ...optional(
      'associatePublicIpAddress',
      readFlag(spec['associatePublicIPAddress'], 'spec.associatePublicIPAddress'),
    ),
    ...optional('context', readText(spec['context'], 'spec.context')),
  };
}

function readInstanceStorePolicy(spec: Raw): 'RAID0' | undefined {
  const raw = spec['instanceStorePolicy'];
  if (raw === undefined || raw === null) return undefined;
  return readOneOf<'RAID0'>(raw, 'spec.instanceStorePolicy', ['RAID0']);
}

/**
 * Reads an EC2NodeClass of karpenter.k8s.aws/v1. `ready` and `status` come from the object's own
 * status.
 */
export function ec2NodeClassOf(raw: unknown): Parsed<NodeClass> {
  return parsed((): NodeClass => {
    const object = readObject(raw);
    const meta = readMeta(object);
    const spec = readRecord(object['spec'], 'spec');
    const status = readRecord(object['status'], 'status');
    refuseUnsupported(spec);
    const selection = readSelection(spec);
    return {
      ref: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: meta.name },
      uid: meta.uid,
      resourceVersion: meta.resourceVersion,
      generation: meta.generation,
      ...optional('deletionMs', meta.deletionMs),
      ready: conditionIsTrue(readConditions(status), 'Ready'),
      ...selection,
      ...readIdentity(spec),
      ...readSettings(spec),
      status: readClassStatus(status, 'status'),
      hash: karpenterClassHash(spec, selection.amiFamily, undefined),
    };
  });
}
