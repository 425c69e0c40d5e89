import { lookUp, put } from '@dovetail/core-invariant';
import {
  isRecord,
  Malformed,
  optional,
  type Raw,
  readFlag,
  readInteger,
  readRecord,
  readText,
  readTexts,
} from '@dovetail/core-kube-model';

import { type KubeletFieldKind, kubeletFieldKinds } from '../kubelet-fields.js';
import { evictionSignals, type KubeletConfiguration, reservableResources } from '../node-class.js';

/** Reads a map whose keys are of a closed set. Numbers become text. */
function readKeyed(
  raw: unknown,
  field: string,
  keys: readonly string[],
): Readonly<Record<string, string>> | undefined {
  if (raw === undefined || raw === null) return undefined;
  const map: Record<string, string> = {};
  for (const [key, value] of Object.entries(readRecord(raw, field))) {
    if (!keys.includes(key))
      throw new Malformed(`${field}.${key}`, value, `write one of ${keys.join(', ')}`);
    const text =
      typeof value === 'number' ? String(value) : (readText(value, `${field}.${key}`) ?? '');
    if (text.startsWith('-'))
      throw new Malformed(`${field}.${key}`, value, 'write a value of 0 or more');
    put(map, key, text);
  }
  return map;
}

function checkPairs(kubelet: KubeletConfiguration, field: string): void {
  const soft = Object.keys(kubelet.evictionSoft ?? {}).sort();
  const grace = Object.keys(kubelet.evictionSoftGracePeriod ?? {}).sort();
  const unpaired =
    soft.find((key) => !grace.includes(key)) ?? grace.find((key) => !soft.includes(key));
  if (unpaired !== undefined)
    throw new Malformed(
      `${field}.evictionSoft`,
      unpaired,
      `${unpaired} must stand in evictionSoft and in evictionSoftGracePeriod`,
    );
  const { imageGCHighThresholdPercent: high, imageGCLowThresholdPercent: low } = kubelet;
  if (high !== undefined && low !== undefined && high <= low)
    throw new Malformed(
      `${field}.imageGCHighThresholdPercent`,
      high,
      'write more than imageGCLowThresholdPercent',
    );
}

type Thresholds = Pick<
  KubeletConfiguration,
  'systemReserved' | 'kubeReserved' | 'evictionHard' | 'evictionSoft' | 'evictionSoftGracePeriod'
>;

function readThresholds(kubelet: Raw, field: string): Thresholds {
  const keyed = (
    name: keyof Thresholds,
    keys: readonly string[],
  ): Readonly<Record<string, string>> | undefined =>
    readKeyed(kubelet[name], `${field}.${name}`, keys);
  return {
    ...optional('systemReserved', keyed('systemReserved', reservableResources)),
    ...optional('kubeReserved', keyed('kubeReserved', reservableResources)),
    ...optional('evictionHard', keyed('evictionHard', evictionSignals)),
    ...optional('evictionSoft', keyed('evictionSoft', evictionSignals)),
    ...optional('evictionSoftGracePeriod', keyed('evictionSoftGracePeriod', evictionSignals)),
  };
}

type Counts = Pick<
  KubeletConfiguration,
  | 'maxPods'
  | 'podsPerCore'
  | 'evictionMaxPodGracePeriod'
  | 'imageGCHighThresholdPercent'
  | 'imageGCLowThresholdPercent'
>;

function readCounts(kubelet: Raw, field: string): Counts {
  const count = (name: keyof Counts): number | undefined =>
    readInteger(kubelet[name], `${field}.${name}`, { min: 0 });
  const percent = (name: keyof Counts): number | undefined =>
    readInteger(kubelet[name], `${field}.${name}`, { min: 0, max: 100 });
  return {
    ...optional('maxPods', count('maxPods')),
    ...optional('podsPerCore', count('podsPerCore')),
    ...optional('evictionMaxPodGracePeriod', count('evictionMaxPodGracePeriod')),
    ...optional('imageGCHighThresholdPercent', percent('imageGCHighThresholdPercent')),
    ...optional('imageGCLowThresholdPercent', percent('imageGCLowThresholdPercent')),
  };
}

/** The fields that change a node's capacity, or that every family's user data can carry. */
const understood: ReadonlySet<string> = new Set([
  'clusterDNS',
  'maxPods',
  'podsPerCore',
  'systemReserved',
  'kubeReserved',
  'evictionHard',
  'evictionSoft',
  'evictionSoftGracePeriod',
  'evictionMaxPodGracePeriod',
  'imageGCHighThresholdPercent',
  'imageGCLowThresholdPercent',
  'cpuCFSQuota',
] satisfies readonly (keyof KubeletConfiguration)[]);

const isOfKind: Readonly<Record<KubeletFieldKind, (value: unknown) => boolean>> = {
  flag: (value) => typeof value === 'boolean',
  text: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  list: (value) => Array.isArray(value),
  map: isRecord,
};

/**
 * Reads the fields of an EC2NodeClass' kubelet beyond those that are understood: every field of the
 * kubelet's own configuration except the taints (Karpenter 1.15).
 */
function readOthers(kubelet: Raw, field: string): KubeletConfiguration['others'] {
  const others = Object.entries(kubelet).filter(
    ([name, value]) => !understood.has(name) && value !== undefined && value !== null,
  );
  for (const [name, value] of others) {
    const path = `${field}.${name}`;
    if (name === 'registerWithTaints')
      throw new Malformed(
        path,
        value,
        "remove it: the taints of a node are its pool's (taints, startupTaints)",
      );
    const kind = kubeletFieldKinds.get(name);
    if (kind === undefined)
      throw new Malformed(path, value, 'this is no field of the kubelet: correct or remove it');
    if (!isOfKind[kind](value)) throw new Malformed(path, value, `write a ${kind}`);
  }
  return others.length === 0 ? undefined : Object.fromEntries(others);
}

/**
 * Reads `spec.kubelet` of an EC2NodeClass, which takes every field of the kubelet's configuration.
 */
export function readOpenKubelet(raw: unknown, field: string): KubeletConfiguration {
  const kubelet = readRecord(raw, field);
  return { ...readUnderstood(kubelet, field), ...optional('others', readOthers(kubelet, field)) };
}

/** Reads `spec.kubeletConfiguration` of a Provisioner, which has a closed set of fields. */
export function readKubelet(raw: unknown, field: string): KubeletConfiguration {
  const kubelet = readRecord(raw, field);
  const unknown = Object.keys(kubelet).find(
    (name) => !understood.has(name) && name !== 'containerRuntime',
  );
  if (unknown !== undefined)
    throw new Malformed(
      `${field}.${unknown}`,
      lookUp(kubelet, unknown),
      `a Provisioner has no such kubelet setting: write one of ${[...understood].join(', ')}`,
    );
  // A Provisioner may name a runtime. Nodes run the runtime of their image, so only its form is
  // checked.
  readText(kubelet['containerRuntime'], `${field}.containerRuntime`);
  return readUnderstood(kubelet, field);
}

function readUnderstood(kubelet: Raw, field: string): KubeletConfiguration {
  const settings: KubeletConfiguration = {
    ...(kubelet['clusterDNS'] === undefined || kubelet['clusterDNS'] === null
      ? {}
      : { clusterDNS: readTexts(kubelet['clusterDNS'], `${field}.clusterDNS`) }),
    ...readCounts(kubelet, field),
    ...readThresholds(kubelet, field),
    ...optional('cpuCFSQuota', readFlag(kubelet['cpuCFSQuota'], `${field}.cpuCFSQuota`)),
  };
  checkPairs(settings, field);
  return settings;
}
