import type { Clock, KubeObject } from '@dovetail/core-ports';

type LeaseSpec = {
  holderIdentity?: string | null;
  leaseDurationSeconds?: number;
  leaseTransitions?: number;
};
/** A Lease of coordination.k8s.io, as far as it is read. */
export type Lease = KubeObject & { spec?: LeaseSpec };

/** The Lease, its holder and its duration. */
type LeaseContent = {
  readonly clock: Clock;
  readonly namespace: string;
  readonly name: string;
  readonly identity: string;
  readonly durationMs: number;
};

/** The Lease as a holder writes it; an empty holder gives it up. */
export function leaseObject(
  options: LeaseContent,
  annotations: Readonly<Record<string, string>>,
  transitions: number,
  resourceVersion: string | undefined,
  holder = options.identity,
): KubeObject {
  const now = new Date(options.clock.nowMs()).toISOString().replace('Z', '000Z');
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: options.name,
      namespace: options.namespace,
      annotations,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    spec: {
      holderIdentity: holder,
      leaseDurationSeconds: Math.max(1, Math.ceil(options.durationMs / 1_000)),
      renewTime: now,
      leaseTransitions: transitions,
    },
  };
}
