import {
  aliasFamilies,
  type AmiFamily,
  type AmiSelectorTerm,
  type NodeClass,
} from '@dovetail/core-api';
import { lookUp } from '@dovetail/core-invariant';

import { allVariants, type AmiVariant } from './ami-variant.js';
import type { Ec2Filter } from './cloud-values.js';
import { tagFilters } from './selectors.js';

/** One way to find images: an SSM parameter that names one, or a call that describes them. */
export type AmiQuery =
  | {
      readonly kind: 'parameter';
      readonly name: string;
      readonly arch?: 'amd64' | 'arm64';
      readonly variants: readonly AmiVariant[];
    }
  | {
      readonly kind: 'images';
      readonly ids?: readonly string[];
      readonly owners?: readonly string[];
      readonly filters: readonly Ec2Filter[];
    };

/** The queries of a class, or why its alias cannot be used. */
export type AmiQueries =
  | { readonly ok: true; readonly queries: readonly AmiQuery[] }
  | { readonly ok: false; readonly reason: 'UnsupportedAlias'; readonly message: string };

/** A family and version of EKS' images, such as `al2023@v20250601` or `al2023@latest`. */
export type AmiAlias = { readonly family: AmiFamily; readonly version: string };

/**
 * The alias of a class: its own, or its family's latest where it selects no images, as legacy
 * classes do.
 */
export function aliasOf(
  nodeClass: Pick<NodeClass, 'amiFamily' | 'amiSelectorTerms'>,
): AmiAlias | undefined {
  const alias = nodeClass.amiSelectorTerms.find((term) => term.alias !== undefined)?.alias;
  if (alias === undefined)
    return nodeClass.amiSelectorTerms.length === 0 && nodeClass.amiFamily !== 'Custom'
      ? { family: nodeClass.amiFamily, version: 'latest' }
      : undefined;
  const [name = '', version = 'latest'] = alias.split('@');
  return { family: lookUp(aliasFamilies, name.toLowerCase()) ?? nodeClass.amiFamily, version };
}

/**
 * The queries that find a class' images. `kubernetesVersion` is `major.minor` of the cluster, such
 * as `1.34`. A class for which no query finds an image is not ready.
 */
export function amiQueriesOf(
  nodeClass: Pick<NodeClass, 'amiFamily' | 'amiSelectorTerms'>,
  kubernetesVersion: string,
): AmiQueries {
  const alias = aliasOf(nodeClass);
  if (alias === undefined)
    return { ok: true, queries: selectorQueries(nodeClass.amiSelectorTerms) };
  const minor = Number(kubernetesVersion.split('.')[1]);
  if (alias.family === 'AL2' && minor >= 33)
    return unsupported(
      alias,
      `EKS publishes no Amazon Linux 2 image for Kubernetes ${kubernetesVersion}; use alias al2023@latest or bottlerocket@latest`,
    );
  if (alias.family === 'Windows2025' && minor < 35)
    return unsupported(
      alias,
      `EKS publishes Windows 2025 images from Kubernetes 1.35 on, this cluster is ${kubernetesVersion}; use windows2022@latest`,
    );
  return { ok: true, queries: parameterQueries(alias, kubernetesVersion) };
}

const unsupported = (alias: AmiAlias, message: string): AmiQueries => ({
  ok: false,
  reason: 'UnsupportedAlias',
  message: `alias ${alias.family}@${alias.version} cannot be used: ${message}`,
});

/** The SSM parameters of each family, as AWS documents them. */
function parameterQueries({ family, version }: AmiAlias, kubernetes: string): readonly AmiQuery[] {
  switch (family) {
    case 'AL2':
      return al2Queries(version, kubernetes);
    case 'AL2023':
      return al2023Queries(version, kubernetes);
    case 'Bottlerocket':
      return bottlerocketQueries(version, kubernetes);
    case 'Windows2019':
    case 'Windows2022':
    case 'Windows2025':
      return [
        {
          kind: 'parameter',
          arch: 'amd64',
          variants: ['standard'],
          name: `/aws/service/ami-windows-latest/Windows_Server-${family.slice('Windows'.length)}-English-Core-EKS_Optimized-${kubernetes}/image_id`,
        },
      ];
    case 'Custom':
      return [];
  }
}

function al2Queries(version: string, kubernetes: string): readonly AmiQuery[] {
  const path = (flavour: string, node: string): string =>
    `/aws/service/eks/optimized-ami/${kubernetes}/amazon-linux-2${flavour}/${version === 'latest' ? 'recommended' : `amazon-eks${node}-node-${kubernetes}-${version}`}/image_id`;
  return [
    { kind: 'parameter', name: path('', ''), arch: 'amd64', variants: ['standard'] },
    { kind: 'parameter', name: path('-arm64', '-arm64'), arch: 'arm64', variants: ['standard'] },
    {
      kind: 'parameter',
      name: path('-gpu', '-gpu'),
      arch: 'amd64',
      variants: ['nvidia', 'neuron'],
    },
  ];
}

function al2023Queries(version: string, kubernetes: string): readonly AmiQuery[] {
  const query = (arch: 'amd64' | 'arm64', variant: 'standard' | 'nvidia' | 'neuron'): AmiQuery => {
    const machine = arch === 'amd64' ? 'x86_64' : 'arm64';
    const release =
      version === 'latest'
        ? 'recommended'
        : `amazon-eks-node-al2023-${machine}-${variant}-${kubernetes}-${version}`;
    return {
      kind: 'parameter',
      name: `/aws/service/eks/optimized-ami/${kubernetes}/amazon-linux-2023/${machine}/${variant}/${release}/image_id`,
      arch,
      variants: [variant],
    };
  };
  return [
    query('amd64', 'standard'),
    query('arm64', 'standard'),
    query('amd64', 'nvidia'),
    query('arm64', 'nvidia'),
    query('amd64', 'neuron'),
  ];
}

function bottlerocketQueries(version: string, kubernetes: string): readonly AmiQuery[] {
  const release = version.replace(/^v/, '');
  const query = (
    arch: 'amd64' | 'arm64',
    flavour: '' | '-nvidia',
    variants: readonly AmiVariant[],
  ): AmiQuery => ({
    kind: 'parameter',
    name: `/aws/service/bottlerocket/aws-k8s-${kubernetes}${flavour}/${arch === 'amd64' ? 'x86_64' : 'arm64'}/${release}/image_id`,
    arch,
    variants,
  });
  return [
    query('amd64', '', ['standard', 'neuron']),
    query('arm64', '', ['standard']),
    query('amd64', '-nvidia', ['nvidia']),
    query('arm64', '-nvidia', ['nvidia']),
  ];
}

/** Queries for terms other than aliases: one for all ids, and one for each other term. */
function selectorQueries(terms: readonly AmiSelectorTerm[]): readonly AmiQuery[] {
  const ids = terms.flatMap((term) => term.id ?? []).sort();
  const byId: readonly AmiQuery[] = ids.length === 0 ? [] : [{ kind: 'images', ids, filters: [] }];
  return [...byId, ...terms.flatMap(selectorQuery)];
}

function selectorQuery(term: AmiSelectorTerm): readonly AmiQuery[] {
  if (term.id !== undefined) return [];
  if (term.ssmParameter !== undefined)
    return [{ kind: 'parameter', name: term.ssmParameter, variants: allVariants }];
  // A name alone could match an image of any account. Without an owner only own and Amazon's images
  // count (Karpenter's rule).
  const owners =
    term.owner !== undefined
      ? [term.owner]
      : term.name !== undefined
        ? ['self', 'amazon']
        : undefined;
  const filters = [
    { name: 'state', values: ['available'] },
    ...(term.name === undefined ? [] : [{ name: 'name', values: [term.name] }]),
    ...tagFilters(term.tags ?? {}),
  ];
  return [{ kind: 'images', filters, ...(owners === undefined ? {} : { owners }) }];
}
