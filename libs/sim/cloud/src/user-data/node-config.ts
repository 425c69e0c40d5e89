import { lookUp } from '@dovetail/core-invariant';
import { parse } from 'yaml';

import { configFromFlags, kubeletFlags } from './bootstrap-script.js';
import {
  type BootConfig,
  BootError,
  type BootOutcome,
  countOf,
  outcomeOf,
  taintOf,
} from './config.js';
import type { UserDataPart, UserDataParts } from './mime.js';
import { wordsOf } from './shell.js';

type Tree = { readonly [key: string]: unknown };

const isTree = (value: unknown): value is Tree =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** Whether a part is a NodeConfig, by its declared type or, outside MIME, by its content. */
export function isNodeConfig(part: UserDataPart): boolean {
  return (
    part.contentType === 'application/node.eks.aws' ||
    (part.contentType === 'text/plain' && /^apiVersion:\s*node\.eks\.aws\//m.test(part.body))
  );
}

/**
 * Merges two documents as nodeadm does: the later one wins key by key, lists and scalars are
 * replaced, and the kubelet's flags are appended.
 */
function merged(earlier: unknown, later: unknown): unknown {
  if (!isTree(earlier) || !isTree(later)) return later === undefined ? earlier : later;
  return Object.fromEntries(
    [...new Set([...Object.keys(earlier), ...Object.keys(later)])].map((key) => {
      const [left, right] = [lookUp(earlier, key), lookUp(later, key)];
      return [
        key,
        key === 'flags' && Array.isArray(left) && Array.isArray(right)
          ? [...(left as unknown[]), ...(right as unknown[])]
          : merged(left, right),
      ];
    }),
  );
}

function documentOf(part: UserDataPart): Tree {
  let document: unknown;
  try {
    document = parse(part.body) as unknown;
  } catch (error) {
    throw new BootError(
      `NodeConfig: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'not YAML'}`,
    );
  }
  if (!isTree(document)) throw new BootError('NodeConfig: not a YAML mapping');
  if (document['apiVersion'] !== 'node.eks.aws/v1alpha1')
    throw new BootError(
      `NodeConfig: apiVersion is ${String(document['apiVersion'])}; expected node.eks.aws/v1alpha1`,
    );
  if (document['kind'] !== 'NodeConfig')
    throw new BootError(`NodeConfig: kind is ${String(document['kind'])}; expected NodeConfig`);
  return document;
}

const at = (tree: unknown, ...path: readonly string[]): unknown =>
  path.reduce((value, key) => (isTree(value) ? lookUp(value, key) : undefined), tree);

function required(spec: unknown, name: string): string {
  const value = at(spec, 'cluster', name);
  if (typeof value !== 'string' || value === '')
    throw new BootError(`NodeConfig: spec.cluster.${name} is missing`);
  return value;
}

function stringsOf(value: unknown): Record<string, string> {
  return isTree(value)
    ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, String(inner)]))
    : {};
}

function taintsOf(value: unknown): BootConfig['taints'] {
  return (Array.isArray(value) ? (value as unknown[]) : []).map((taint) => {
    if (!isTree(taint))
      throw new BootError(
        'NodeConfig: spec.kubelet.config.registerWithTaints has an item that is not a mapping',
      );
    const text = stringsOf(taint);
    return taintOf(text['key'] ?? '', text['value'], text['effect'] ?? '');
  });
}

function configOf(spec: unknown): BootConfig {
  const kubelet = at(spec, 'kubelet', 'config');
  const flagList = at(spec, 'kubelet', 'flags');
  const flags = (Array.isArray(flagList) ? (flagList as unknown[]) : []).flatMap((flag) => [
    ...wordsOf(String(flag)),
  ]);
  const fromFlags = configFromFlags(kubeletFlags(flags));
  const clusterDns = at(kubelet, 'clusterDNS');
  const taints = at(kubelet, 'registerWithTaints');
  return {
    ...fromFlags,
    family: 'AL2023',
    clusterName: required(spec, 'name'),
    endpoint: required(spec, 'apiServerEndpoint'),
    certificateAuthority: required(spec, 'certificateAuthority'),
    ...(at(kubelet, 'maxPods') === undefined
      ? {}
      : { podsMax: countOf('NodeConfig: spec.kubelet.config.maxPods', at(kubelet, 'maxPods')) }),
    ...(at(kubelet, 'podsPerCore') === undefined
      ? {}
      : {
          podsPerCore: countOf(
            'NodeConfig: spec.kubelet.config.podsPerCore',
            at(kubelet, 'podsPerCore'),
          ),
        }),
    ...(Array.isArray(clusterDns) && clusterDns.length > 0
      ? { clusterDns: String(clusterDns[0]) }
      : {}),
    taints: taints === undefined ? fromFlags.taints : taintsOf(taints),
    kubeReserved: { ...fromFlags.kubeReserved, ...stringsOf(at(kubelet, 'kubeReserved')) },
    systemReserved: { ...fromFlags.systemReserved, ...stringsOf(at(kubelet, 'systemReserved')) },
    evictionHard: { ...fromFlags.evictionHard, ...stringsOf(at(kubelet, 'evictionHard')) },
    raid0: at(spec, 'instance', 'localStorage', 'strategy') === 'RAID0',
  };
}

/**
 * AL2023: nodeadm merges all NodeConfig parts in order. The cluster's name, endpoint, CA and
 * service CIDR are required.
 */
export function bootFromNodeConfigs(userData: UserDataParts): BootOutcome {
  return outcomeOf(() => {
    if (userData.problem !== undefined) throw new BootError(userData.problem);
    const documents = userData.parts.filter(isNodeConfig).map(documentOf);
    if (documents.length === 0)
      throw new BootError('no NodeConfig in the user data (a MIME part application/node.eks.aws)');
    const whole = documents.reduce<unknown>((left, right) => merged(left, right), {});
    required(at(whole, 'spec'), 'cidr');
    return configOf(at(whole, 'spec'));
  });
}
