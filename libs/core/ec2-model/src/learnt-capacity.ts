import { lookUp } from '@dovetail/core-invariant';
import type { Resources } from '@dovetail/core-kube-model';

import type { InstanceType } from './instance-type.js';

/** The resources of a node, or of a type as it is planned. */
type Room = Pick<InstanceType, 'capacity' | 'allocatable'>;

/**
 * By how much the nodes of a type and image differ from what was planned of them, by resource.
 * Resources that agree are left out.
 */
export type CapacityDifference = Room;

/**
 * The resources that are learnt. Devices are left out: what reports them may come later than the
 * node, or fail.
 */
const learntResources = ['cpu', 'memory', 'pods', 'ephemeral-storage'] as const;

/** Hosts differ by some pages, which must not make a new catalog with each node. */
const stepBytes = 1024 ** 2;
/**
 * The part of a node's memory that a raised plan leaves unused, so that a host with a little less
 * than those seen still holds what was planned for it. 16 MiB of 8 GiB.
 */
const marginShare = 1 / 512;
/** A node with less than half of what its type has is broken, and no measure of the others. */
const leastShare = 1 / 2;

/**
 * The difference between a node's report and the plan, as far as it can be believed; undefined when
 * the plan was right. Memory may be raised by at most the share that was planned for hypervisor and
 * firmware. Other resources are only lowered, and none by more than half.
 */
export function capacityDifference(
  planned: Room,
  reported: Room,
  limits: { readonly vmMemoryOverheadPercent: number },
): CapacityDifference | undefined {
  const share = Math.min(limits.vmMemoryOverheadPercent, 1 - leastShare);
  const mostBytes = ((planned.capacity['memory'] ?? 0) * share) / (1 - share);
  const differences = (plan: Resources, report: Resources): Resources =>
    Object.fromEntries(
      learntResources
        .map((name) => {
          const [expected, found] = [plan[name] ?? 0, report[name] ?? 0];
          // A resource that is not reported yet says nothing.
          if (found === 0 || expected === 0) return [name, 0] as const;
          const most = name === 'memory' ? mostBytes : 0;
          return [name, believed(name, { expected, found, most })] as const;
        })
        .filter(([, amount]) => amount !== 0),
    );
  const difference = {
    capacity: differences(planned.capacity, reported.capacity),
    allocatable: differences(planned.allocatable, reported.allocatable),
  };
  return isNone(difference) ? undefined : difference;
}

function believed(
  name: string,
  amount: { readonly expected: number; readonly found: number; readonly most: number },
): number {
  const { expected, found, most } = amount;
  const least = -Math.floor(expected * (1 - leastShare));
  const isBytes = name === 'memory' || name === 'ephemeral-storage';
  const margin = found > expected ? expected * marginShare : 0;
  const change = Math.min(most, found - expected - margin);
  const stepped = isBytes ? Math.floor(change / stepBytes) * stepBytes : change;
  // Less than the margin above the plan is as planned.
  return found > expected ? Math.max(0, stepped) : Math.max(least, stepped);
}

const isNone = ({ capacity, allocatable }: CapacityDifference): boolean =>
  Object.keys(capacity).length === 0 && Object.keys(allocatable).length === 0;

/**
 * A node that has this share less than was planned may be the odd one: its kubelet was taken over,
 * or its host keeps huge pages. A reservation that AWS or an image makes on every node is smaller,
 * but for the smallest types; it counts from the second node on there.
 */
const oddShare = 1 / 10;

/**
 * The difference that later plans count with, by what single nodes reported, in any order. By
 * resource the least counts, so that a plan holds on every node that was seen. A node that has far
 * less than planned counts once a second node has, too: a kubelet writes its own node's status, and
 * no single one may shrink the plans of all others.
 */
export function believedDifference(
  planned: Room,
  reports: readonly CapacityDifference[],
): CapacityDifference {
  const least = (part: keyof Room): Resources =>
    Object.fromEntries(
      learntResources
        .map((name) => {
          const amounts = reports.map((report) => report[part][name] ?? 0).sort((a, b) => a - b);
          const [first = 0, second = 0] = amounts;
          const isOdd = first < -(planned[part][name] ?? 0) * oddShare;
          return [name, isOdd ? second : first] as const;
        })
        .filter(([, amount]) => amount !== 0),
    );
  return { capacity: least('capacity'), allocatable: least('allocatable') };
}

/** The type as its nodes turned out to be. */
export const withDifference = (type: InstanceType, by: CapacityDifference): InstanceType => ({
  ...type,
  capacity: changed(type.capacity, by.capacity),
  allocatable: changed(type.allocatable, by.allocatable),
});

const changed = (resources: Resources, by: Resources): Resources =>
  Object.fromEntries(
    Object.entries(resources).map(([name, amount]) => [
      name,
      Math.max(0, amount + (lookUp(by, name) ?? 0)),
    ]),
  );
