import { put } from '@dovetail/core-invariant';
import type { Taint } from '@dovetail/core-kube-model';

/** The families whose boot the twin knows. */
export type UserDataFamily = 'AL2' | 'AL2023' | 'Bottlerocket';

/** How a machine joins its cluster. */
export type BootConfig = {
  readonly family: UserDataFamily;
  readonly clusterName?: string;
  /** Undefined when the machine asks EKS for it (bootstrap.sh without --apiserver-endpoint). */
  readonly endpoint?: string;
  readonly certificateAuthority?: string;
  readonly clusterDns?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** The user data's number of pods; undefined leaves it to the machine's own rule. */
  readonly podsMax?: number;
  readonly podsPerCore?: number;
  readonly kubeReserved: Readonly<Record<string, string>>;
  readonly systemReserved: Readonly<Record<string, string>>;
  readonly evictionHard: Readonly<Record<string, string>>;
  /** Instance store disks are made into one RAID 0 volume. */
  readonly raid0: boolean;
};

/** Whether a machine with this user data joins the cluster, and how or why not. */
export type BootOutcome =
  | { readonly joins: true; readonly config: BootConfig }
  | { readonly joins: false; readonly reason: string };

/** Thrown for a value that boot refuses; the message names the place and the value. */
export class BootError extends Error {
  override readonly name = 'BootError';
}

const effects: readonly string[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** The outcome of a reader that may refuse. */
export function outcomeOf(read: () => BootConfig): BootOutcome {
  try {
    return { joins: true, config: read() };
  } catch (error) {
    if (error instanceof BootError) return { joins: false, reason: error.message };
    throw error;
  }
}

/** Kubernetes' label syntax as the kubelet checks it before it starts. */
export function checkedLabels(pairs: Iterable<readonly [string, string]>): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const [key, value] of pairs) {
    if (
      !/^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(
        key,
      )
    )
      throw new BootError(`node label ${key}: not a label key`);
    if (!/^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/.test(value))
      throw new BootError(`node label ${key}: ${value} is not a label value`);
    put(labels, key, value);
  }
  return labels;
}

/** Checks the effect of a taint. */
export function taintOf(key: string, value: string | undefined, effect: string): Taint {
  if (key === '') throw new BootError('taint: the key is empty');
  if (!effects.includes(effect))
    throw new BootError(`taint ${key}: ${effect} is not an effect; one of ${effects.join(', ')}`);
  return {
    key,
    effect: effect as Taint['effect'],
    ...(value === undefined || value === '' ? {} : { value }),
  };
}

/** A whole number from 0. */
export function countOf(name: string, value: unknown): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 0)
    throw new BootError(`${name}: ${String(value)} is not a whole number`);
  return number;
}
