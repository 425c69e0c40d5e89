import {
  Malformed,
  optional,
  type Raw,
  readFlag,
  readInteger,
  readRecord,
  readText,
  readTexts,
} from '@dovetail/core-kube-model';

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
    map[key] =
      typeof value === 'number' ? String(value) : (readText(value, `${field}.${key}`) ?? '');
    if (map[key].startsWith('-'))
      throw new Malformed(`${field}.${key}`, value, 'write a value of 0 or more');
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

/**
 * Reads the kubelet settings of a class or a Provisioner that Dovetail knows. Other settings are no
 * error and have no effect.
 */
export function readKubelet(raw: unknown, field: string): KubeletConfiguration {
  const kubelet = readRecord(raw, field);
  const settings: KubeletConfiguration = {
    ...(kubelet['clusterDNS'] === undefined || kubelet['clusterDNS'] === null
      ? {}
      : { clusterDNS: readTexts(kubelet['clusterDNS'], `${field}.clusterDNS`) }),
    ...readCounts(kubelet, field),
    ...readThresholds(kubelet, field),
    ...optional('cpuCFSQuota', readFlag(kubelet['cpuCFSQuota'], `${field}.cpuCFSQuota`)),
  };
  // A Provisioner may name a runtime. Nodes run the runtime of their image, so only its form is
  // checked.
  readText(kubelet['containerRuntime'], `${field}.containerRuntime`);
  checkPairs(settings, field);
  return settings;
}
