import { lookUp } from '@dovetail/core-invariant';
import { parse } from 'smol-toml';

import {
  type BootConfig,
  BootError,
  type BootOutcome,
  checkedLabels,
  countOf,
  outcomeOf,
  taintOf,
} from './config.js';

type Tree = { readonly [key: string]: unknown };

const isTree = (value: unknown): value is Tree =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

function tableOf(tree: Tree, key: string): Tree {
  const value = lookUp(tree, key);
  if (value === undefined) return {};
  if (!isTree(value))
    throw new BootError(`Bottlerocket: settings.kubernetes.${key} is not a table`);
  return value;
}

const strings = (table: Tree): Record<string, string> =>
  Object.fromEntries(Object.entries(table).map(([key, value]) => [key, String(value)]));

function required(kubernetes: Tree, key: string): string {
  const value = lookUp(kubernetes, key);
  if (typeof value !== 'string' || value === '')
    throw new BootError(`Bottlerocket: settings.kubernetes.${key} is missing`);
  return value;
}

/** `key = "value:Effect"` or `key = ["value:Effect", ...]`. */
function taintsOf(table: Tree): BootConfig['taints'] {
  return Object.entries(table).flatMap(([key, value]) =>
    (Array.isArray(value) ? (value as unknown[]) : [value]).map((item) => {
      const [text = '', effect = ''] = String(item).split(':');
      return taintOf(key, text, effect);
    }),
  );
}

function raid0Of(settings: Tree): boolean {
  const commands = settings['bootstrap-commands'];
  return isTree(commands) && JSON.stringify(commands).includes('ephemeral-storage');
}

function configOf(settings: Tree): BootConfig {
  const kubernetes = settings['kubernetes'];
  if (!isTree(kubernetes))
    throw new BootError('Bottlerocket: there is no table settings.kubernetes');
  const dns = kubernetes['cluster-dns-ip'];
  const clusterDns = Array.isArray(dns)
    ? String(dns[0])
    : typeof dns === 'string'
      ? dns
      : undefined;
  const podsMax = kubernetes['max-pods'];
  return {
    family: 'Bottlerocket',
    clusterName: required(kubernetes, 'cluster-name'),
    endpoint: required(kubernetes, 'api-server'),
    certificateAuthority: required(kubernetes, 'cluster-certificate'),
    ...(clusterDns === undefined ? {} : { clusterDns }),
    labels: checkedLabels(Object.entries(strings(tableOf(kubernetes, 'node-labels')))),
    taints: taintsOf(tableOf(kubernetes, 'node-taints')),
    ...(podsMax === undefined
      ? {}
      : {
          podsMax: countOf(
            'Bottlerocket: settings.kubernetes.max-pods',
            typeof podsMax === 'bigint' ? Number(podsMax) : podsMax,
          ),
        }),
    kubeReserved: strings(tableOf(kubernetes, 'kube-reserved')),
    systemReserved: strings(tableOf(kubernetes, 'system-reserved')),
    evictionHard: strings(tableOf(kubernetes, 'eviction-hard')),
    raid0: raid0Of(settings),
  };
}

/**
 * Bottlerocket: the user data is TOML settings. The API server, the cluster's name and its
 * certificate are required.
 */
export function bootFromBottlerocket(text: string): BootOutcome {
  return outcomeOf(() => {
    let document: unknown;
    try {
      document = parse(text);
    } catch (error) {
      throw new BootError(
        `Bottlerocket: the user data is not TOML: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : ''}`,
      );
    }
    const settings = isTree(document) ? document['settings'] : undefined;
    if (!isTree(settings)) throw new BootError('Bottlerocket: there is no table settings');
    return configOf(settings);
  });
}
