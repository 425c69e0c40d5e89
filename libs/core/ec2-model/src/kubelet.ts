import {
  type AmiFamily,
  evictionSignals,
  type KubeletConfiguration,
  type NodeClass,
  reservableResources,
} from '@dovetail/core-api';
import { lookUp } from '@dovetail/core-invariant';
import {
  compareText,
  parseDurationMs,
  parseResource,
  recordOf,
  type Resources,
} from '@dovetail/core-kube-model';

import { familyTraits } from './ami-family.js';

/** A kubelet setting that cannot be used: its field, its value and a remedy. */
export type KubeletProblem = {
  readonly field: string;
  readonly value: string;
  readonly remedy: string;
};

const percentage = /^(\d+(?:\.\d+)?)%$/;

/** Reads a percentage such as `7.5%`. Undefined when it is none from 0 to 100. */
export function parsePercent(text: string): number | undefined {
  const match = percentage.exec(text);
  const percent = match === null ? undefined : Number(match[1]);
  return percent !== undefined && percent <= 100 ? percent : undefined;
}

/** The problems of a class' kubelet settings, in field order. Empty when all can be used. */
export function kubeletProblems(kubelet: KubeletConfiguration): readonly KubeletProblem[] {
  return [
    ...reservationProblems('kubeReserved', kubelet.kubeReserved),
    ...reservationProblems('systemReserved', kubelet.systemReserved),
    ...evictionProblems('evictionHard', kubelet.evictionHard),
    ...evictionProblems('evictionSoft', kubelet.evictionSoft),
    ...graceProblems(kubelet.evictionSoftGracePeriod),
    ...evictionProblems('evictionMinimumReclaim', minimumReclaimOf(kubelet)),
    ...countProblems('maxPods', kubelet.maxPods),
    ...countProblems('podsPerCore', kubelet.podsPerCore),
  ];
}

function reservationProblems(
  field: string,
  reserved: Readonly<Record<string, string>> = {},
): readonly KubeletProblem[] {
  return Object.keys(reserved)
    .sort()
    .flatMap((name) => {
      const value = lookUp(reserved, name) ?? '';
      const path = `spec.kubelet.${field}.${name}`;
      if (!reservableResources.includes(name))
        return [{ field: path, value, remedy: `use one of ${reservableResources.join(', ')}` }];
      const amount = parseResource(name, value);
      return amount === undefined || amount < 0
        ? [{ field: path, value, remedy: 'write a quantity of 0 or more, e.g. 100m or 1Gi' }]
        : [];
    });
}

function evictionProblems(
  field: string,
  thresholds: Readonly<Record<string, string>> = {},
): readonly KubeletProblem[] {
  return Object.keys(thresholds)
    .sort()
    .flatMap((signal) => {
      const value = lookUp(thresholds, signal) ?? '';
      const path = `spec.kubelet.${field}["${signal}"]`;
      if (!evictionSignals.includes(signal))
        return [{ field: path, value, remedy: `use one of ${evictionSignals.join(', ')}` }];
      const usable = value.endsWith('%')
        ? parsePercent(value) !== undefined
        : (parseResource('memory', value) ?? -1) >= 0;
      return usable
        ? []
        : [
            {
              field: path,
              value,
              remedy: 'write a percentage from 0% to 100% or a quantity, e.g. 100Mi',
            },
          ];
    });
}

/** The least that an eviction reclaims, by signal: values that are no text are empty. */
function minimumReclaimOf({ others }: KubeletConfiguration): Readonly<Record<string, string>> {
  const held = Object.entries(recordOf(others?.['evictionMinimumReclaim']));
  return Object.fromEntries(
    held.map(([signal, value]) => [signal, typeof value === 'string' ? value : '']),
  );
}

const graceProblems = (graces: Readonly<Record<string, string>> = {}): readonly KubeletProblem[] =>
  Object.keys(graces)
    .sort()
    .filter((signal) => parseDurationMs(lookUp(graces, signal) ?? '') === undefined)
    .map((signal) => ({
      field: `spec.kubelet.evictionSoftGracePeriod["${signal}"]`,
      value: lookUp(graces, signal) ?? '',
      remedy: 'write a duration of 0 or more, e.g. 90s or 2m',
    }));

/** The families whose boot scripts take the understood kubelet settings only, one by one. */
const closedFamilies: ReadonlySet<AmiFamily> = new Set([
  'AL2',
  'Bottlerocket',
  'Windows2019',
  'Windows2022',
  'Windows2025',
]);

/**
 * The kubelet settings of a class that its family's nodes would not get, in field order (Karpenter
 * 1.15). A custom image brings its own user data, so nothing is known of it.
 */
export function unsupportedKubelet({
  amiFamily,
  kubelet,
}: Pick<NodeClass, 'amiFamily' | 'kubelet'>): readonly KubeletProblem[] {
  if (!closedFamilies.has(amiFamily)) return [];
  const remedy = `nodes of ${amiFamily} do not take it: remove it, or use AL2023`;
  const { clusterDNS = [], podsPerCore } = kubelet;
  const others = Object.entries(kubelet.others ?? {}).map(([name, value]) => ({
    field: `spec.kubelet.${name}`,
    value: JSON.stringify(value),
    remedy,
  }));
  return [
    ...(clusterDNS.length > 1
      ? [
          {
            field: 'spec.kubelet.clusterDNS',
            value: JSON.stringify(clusterDNS),
            remedy: `nodes of ${amiFamily} take one address: write one, or use AL2023`,
          },
        ]
      : []),
    ...others,
    ...(podsPerCore === undefined || familyTraits(amiFamily).podsPerCore
      ? []
      : [{ field: 'spec.kubelet.podsPerCore', value: String(podsPerCore), remedy }]),
  ].sort((a, b) => compareText(a.field, b.field));
}

const countProblems = (field: string, count: number | undefined): readonly KubeletProblem[] =>
  count === undefined || (Number.isInteger(count) && count >= 0)
    ? []
    : [
        {
          field: `spec.kubelet.${field}`,
          value: String(count),
          remedy: 'write a whole number of 0 or more',
        },
      ];

/**
 * Reads a reservation. Throws RangeError for a setting that `kubeletProblems` reports, because none
 * is guessed.
 */
export function reservationOf(reserved: Readonly<Record<string, string>> = {}): Resources {
  return Object.fromEntries(
    Object.entries(reserved).map(([name, text]) => [name, amountOf(name, text)]),
  );
}

/**
 * Reads an eviction threshold in bytes: a share of the capacity, rounded up, or an amount. 100%
 * switches the signal off.
 */
export function thresholdBytes(text: string, capacityBytes: number): number {
  const percent = parsePercent(text);
  if (percent === undefined) return amountOf('memory', text);
  return percent === 100 ? 0 : Math.ceil((capacityBytes / 100) * percent);
}

function amountOf(name: string, text: string): number {
  const amount = parseResource(name, text);
  if (amount === undefined)
    throw new RangeError(
      `kubelet setting ${name} is "${text}", which is no quantity; check it with kubeletProblems first`,
    );
  return amount;
}
