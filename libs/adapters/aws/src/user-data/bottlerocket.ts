import { lookUp } from '@dovetail/core-invariant';
import { messageOf, type UserDataInput } from '@dovetail/core-ports';
import { parse, stringify } from 'smol-toml';

import { dnsIpsOf, kubeletLabels, kubeletTaints } from './kubelet.js';
import { UserDataProblem } from './problem.js';

type Table = Record<string, unknown>;

/**
 * Bottlerocket's settings in TOML: the user's settings, overwritten by those that the plan relies
 * on. Labels are merged (ours win). Taints and each reservation and threshold map are replaced as a
 * whole. All other settings stay the user's.
 */
export function bottlerocketUserData(input: UserDataInput): string {
  const document = parsed(input.userData ?? '');
  const settings = tableAt(document, 'settings');
  const kubernetes = tableAt(settings, 'kubernetes');
  return stringify({
    ...document,
    settings: {
      ...settings,
      ...(input.instanceStorePolicy === 'RAID0'
        ? {
            'bootstrap-commands': {
              ...tableAt(settings, 'bootstrap-commands'),
              '000-mount-instance-storage': mountCommand(input.imageVersion),
            },
          }
        : {}),
      kubernetes: {
        ...kubernetes,
        ...kubernetesSettings(input, tableAt(kubernetes, 'node-labels')),
      },
    },
  });
}

function parsed(text: string): Table {
  try {
    return parse(text);
  } catch (error) {
    throw new UserDataProblem(
      `spec.userData is not TOML, which Bottlerocket needs: ${messageOf(error)}`,
      { cause: error },
    );
  }
}

function tableAt(table: Table, key: string): Table {
  const value = lookUp(table, key);
  if (value === undefined) return {};
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UserDataProblem(`spec.userData: ${key} must be a table`);
  return value as Table;
}

function kubernetesSettings(input: UserDataInput, userLabels: Table): Table {
  const { cluster, kubelet } = input;
  const [dnsIp] = dnsIpsOf(input);
  const settings: Table = {
    'cluster-name': cluster.name,
    'api-server': cluster.endpoint,
    'cluster-certificate': cluster.certificateAuthority,
    'cluster-dns-ip': dnsIp,
    'max-pods': input.maxPods,
    'system-reserved': kubelet.systemReserved,
    'kube-reserved': kubelet.kubeReserved,
    'eviction-hard': kubelet.evictionHard,
    'eviction-soft': kubelet.evictionSoft,
    'eviction-soft-grace-period': kubelet.evictionSoftGracePeriod,
    'eviction-max-pod-grace-period': kubelet.evictionMaxPodGracePeriod,
    // Bottlerocket's API takes these two as text.
    'image-gc-high-threshold-percent':
      kubelet.imageGCHighThresholdPercent === undefined
        ? undefined
        : String(kubelet.imageGCHighThresholdPercent),
    'image-gc-low-threshold-percent':
      kubelet.imageGCLowThresholdPercent === undefined
        ? undefined
        : String(kubelet.imageGCLowThresholdPercent),
    'cpu-cfs-quota-enforced': kubelet.cpuCFSQuota,
    'node-labels': { ...userLabels, ...kubeletLabels(input) },
    'node-taints': taintTable(input),
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

/** `key = ["value:Effect", …]`: a key may carry several taints. */
function taintTable(input: UserDataInput): Table {
  const table = new Map<string, readonly string[]>();
  for (const { key, value, effect } of kubeletTaints(input))
    table.set(key, [...(table.get(key) ?? []), `${value ?? ''}:${effect}`]);
  return Object.fromEntries(table);
}

/** From this release on, `bind` itself knows which folders belong on the instance's own disks. */
const bindKnowsFolders = [1, 46];
const folders = ['/var/lib/containerd', '/var/lib/kubelet', '/var/log/pods'];

function mountCommand(imageVersion: string | undefined): Table {
  const [major = 0, minor = 0] = (imageVersion ?? '').replace(/^v/, '').split('.').map(Number);
  const [knownMajor = 0, knownMinor = 0] = bindKnowsFolders;
  const knows =
    imageVersion === undefined ||
    imageVersion === 'latest' ||
    major > knownMajor ||
    (major === knownMajor && minor >= knownMinor);
  const bind = ['apiclient', 'ephemeral-storage', 'bind', ...(knows ? [] : ['--dirs', ...folders])];
  return {
    commands: [['apiclient', 'ephemeral-storage', 'init'], bind],
    mode: 'always',
    essential: true,
  };
}
