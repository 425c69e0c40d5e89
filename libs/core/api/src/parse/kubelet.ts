import { Malformed, optional, readFlag, readInteger, readList, readRecord, readText } from '@dovetail/core-kube-model';
import type { KubeletConfiguration } from '../node-class.js';

const signals = ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree', 'pid.available'];
const reservable = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

/** A map whose keys are of a closed set; numbers are kept as their text. */
function readKeyed(raw: unknown, field: string, keys: readonly string[]): Readonly<Record<string, string>> | undefined {
  if (raw === undefined || raw === null) return undefined;
  const map: Record<string, string> = {};
  for (const [key, value] of Object.entries(readRecord(raw, field))) {
    if (!keys.includes(key)) throw new Malformed(`${field}.${key}`, value, `write one of ${keys.join(', ')}`);
    map[key] = typeof value === 'number' ? String(value) : readText(value, `${field}.${key}`) ?? '';
    if (map[key].startsWith('-')) throw new Malformed(`${field}.${key}`, value, 'write a value of 0 or more');
  }
  return map;
}

function checkPairs(kubelet: KubeletConfiguration, field: string): void {
  const soft = Object.keys(kubelet.evictionSoft ?? {}).sort();
  const grace = Object.keys(kubelet.evictionSoftGracePeriod ?? {}).sort();
  const unpaired = soft.find((key) => !grace.includes(key)) ?? grace.find((key) => !soft.includes(key));
  if (unpaired !== undefined) throw new Malformed(`${field}.evictionSoft`, unpaired, `${unpaired} must stand in evictionSoft and in evictionSoftGracePeriod`);
  const { imageGCHighThresholdPercent: high, imageGCLowThresholdPercent: low } = kubelet;
  if (high !== undefined && low !== undefined && high <= low) throw new Malformed(`${field}.imageGCHighThresholdPercent`, high, 'write more than imageGCLowThresholdPercent');
}

/** The kubelet settings that Dovetail reads, of a class or a Provisioner; other settings are not an error but do nothing. */
export function readKubelet(raw: unknown, field: string): KubeletConfiguration {
  const kubelet = readRecord(raw, field);
  const count = (name: string, range: { min: number; max?: number } = { min: 0 }): number | undefined => readInteger(kubelet[name], `${field}.${name}`, range);
  const percent = { min: 0, max: 100 };
  const settings: KubeletConfiguration = {
    ...(kubelet['clusterDNS'] === undefined ? {} : { clusterDNS: readList(kubelet['clusterDNS'], `${field}.clusterDNS`).map((one, index) => readText(one, `${field}.clusterDNS[${index}]`) ?? '') }),
    ...optional('maxPods', count('maxPods')),
    ...optional('podsPerCore', count('podsPerCore')),
    ...optional('systemReserved', readKeyed(kubelet['systemReserved'], `${field}.systemReserved`, reservable)),
    ...optional('kubeReserved', readKeyed(kubelet['kubeReserved'], `${field}.kubeReserved`, reservable)),
    ...optional('evictionHard', readKeyed(kubelet['evictionHard'], `${field}.evictionHard`, signals)),
    ...optional('evictionSoft', readKeyed(kubelet['evictionSoft'], `${field}.evictionSoft`, signals)),
    ...optional('evictionSoftGracePeriod', readKeyed(kubelet['evictionSoftGracePeriod'], `${field}.evictionSoftGracePeriod`, signals)),
    ...optional('evictionMaxPodGracePeriod', count('evictionMaxPodGracePeriod')),
    ...optional('imageGCHighThresholdPercent', count('imageGCHighThresholdPercent', percent)),
    ...optional('imageGCLowThresholdPercent', count('imageGCLowThresholdPercent', percent)),
    ...optional('cpuCFSQuota', readFlag(kubelet['cpuCFSQuota'], `${field}.cpuCFSQuota`)),
  };
  // Provisioners may name a runtime. Only its form is checked: nodes run the runtime of their images.
  readText(kubelet['containerRuntime'], `${field}.containerRuntime`);
  checkPairs(settings, field);
  return settings;
}
