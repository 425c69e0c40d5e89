import type { NodeClass, Pool } from '@dovetail/core-api';
import { nodeClassValue, poolValue } from '@dovetail/core-api/testing';
import { catalogZones, type InstanceType } from '@dovetail/core-ec2-model';
import type { DaemonSet, Pod } from '@dovetail/core-kube-model';
import { daemonSetValue, mebibytes, podValue } from '@dovetail/core-kube-model/testing';
import type { Snapshot } from '@dovetail/core-scheduling';
import { snapshotOf as emptySnapshot } from '@dovetail/core-scheduling/testing';

export { selecting } from '@dovetail/core-kube-model/testing';

/** A generated case: the state of the cluster, and the pods to place. */
export type BenchWorld = {
  readonly name: string;
  readonly snapshot: Snapshot;
  readonly pods: readonly Pod[];
};

export const zoneKey = 'topology.kubernetes.io/zone';
export const hostKey = 'kubernetes.io/hostname';
export const mebibyte = 1024 ** 2;
export const gibibyte = 1024 ** 3;

/** A pending pod that asks for nothing, with changes. */
export const podOf = (uid: string, over: Partial<Pod>): Pod =>
  podValue(uid, { createdMs: 1_700_000_000_000, requests: { pods: 1 }, ...over });

/** The pool `default`, without limits and requirements, with changes. */
export const poolOf = (over: Partial<Pool> = {}): Pool =>
  poolValue('default', {
    disruption: { policy: 'WhenEmptyOrUnderutilized', consolidateAfterMs: 0, budgets: [] },
    ...over,
  });

/** A daemonset of kube-system whose pods run on every node. */
export const daemonSetOf = (name: string, cpuMillis: number, memoryMib: number): DaemonSet =>
  daemonSetValue(
    name,
    podOf(`ds-${name}`, { requests: { cpu: cpuMillis, memory: mebibytes(memoryMib), pods: 1 } }),
  );

/** A cluster without nodes that may launch these types. */
export const snapshotOf = (
  instanceTypes: readonly InstanceType[],
  daemonSets: readonly DaemonSet[],
  pool = poolOf(),
): Snapshot =>
  emptySnapshot({ catalogRevision: 'bench', pools: [{ pool, instanceTypes }], daemonSets });

/** The source of types and prices of the generated worlds. */
export const region = 'us-east-1';
/** The zones of the generated worlds. */
export const zones = ['us-east-1a', 'us-east-1b', 'us-east-1c'] as const;

/** An AL2023 class with subnets in three zones. */
export function nodeClass(): NodeClass {
  const ids = new Map(catalogZones(region).map((zone) => [zone.name, zone.id]));
  return nodeClassValue('default', {
    uid: 'class-1',
    amiSelectorTerms: [{ alias: 'al2023@latest' }],
    role: 'node',
    status: {
      subnets: zones.map((zone) => ({
        id: `subnet-${zone}`,
        zone,
        ...(ids.has(zone) ? { zoneId: ids.get(zone) as string } : {}),
      })),
      securityGroups: [],
      amis: [{ id: 'ami-1', name: 'amd64', deprecated: false, arch: 'amd64', variant: 'standard' }],
    },
  });
}
