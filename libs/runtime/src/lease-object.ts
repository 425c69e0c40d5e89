import type { Clock, KubeObject } from '@dovetail/core-ports';

type LeaseSpec = {
  holderIdentity?: string | null;
  leaseDurationSeconds?: number;
  leaseTransitions?: number;
  renewTime?: string;
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

let writes = 0;

/**
 * A time that no other write of this process carries: Kubernetes' MicroTime has three digits more
 * than the clock. A holder that reads the Lease knows by it which of its writes has landed.
 */
function writeTime(nowMs: number): string {
  writes = (writes + 1) % 1_000;
  return new Date(nowMs).toISOString().replace('Z', `${String(writes).padStart(3, '0')}Z`);
}

/** The Lease as a holder writes it; an empty holder gives it up. Each has its own renewTime. */
export function leaseObject(
  options: LeaseContent,
  annotations: Readonly<Record<string, string>>,
  transitions: number,
  resourceVersion: string | undefined,
  holder = options.identity,
): Lease {
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
      renewTime: writeTime(options.clock.nowMs()),
      leaseTransitions: transitions,
    },
  };
}
