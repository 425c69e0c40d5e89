import {
  evictionSignals,
  type KubeletConfiguration,
  reservableResources,
} from '@dovetail/core-api';
import { parseResource, type Resources } from '@dovetail/core-kube-model';

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
      const value = reserved[name] ?? '';
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
      const value = thresholds[signal] ?? '';
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
