import type { PlanMessage } from '@dovetail/contracts';
import type { ClusterChange } from '@dovetail/core-cluster';
import type { Pod } from '@dovetail/core-kube-model';
import type { NewNode, Placement } from '@dovetail/core-scheduling';

type Bin = NewNode | Placement;

/** Bins of the same plan that are judged later, and the pods of all of them. */
export type Companions = {
  readonly newNodes: readonly NewNode[];
  readonly placements: readonly Placement[];
  readonly pods: readonly Pod[];
};

/** Reads the pods of a bin, and whether it would still be admitted. */
export type BinReading = {
  /** The pods of these UIDs that exist. */
  readonly podsOf: (uids: readonly string[]) => readonly Pod[];
  /** Whether a bin's pods are free and its groups untouched. */
  readonly stillHolds: (bin: Bin) => boolean;
};

type Later = {
  readonly bin: Bin;
  /** Its place among the bins of its kind. */
  readonly index: number;
  /** Whether another bin names one of its pods. Then each admission may change the answer. */
  readonly isShared: boolean;
  /** Its pods; `gone` if it does not hold any more. Undefined: not read since a change. */
  pods: readonly Pod[] | 'gone' | undefined;
};

/**
 * The bins of a plan that are still to be judged, by topology group. Each is read once, and again
 * after a change that may concern it. A plan may have hundreds of bins of one group, and reading
 * all that follow for each of them would cost the square.
 *
 * Invariant: the plan's own admissions change no answer, but for bins that share a pod.
 */
export class LaterBins {
  readonly #reading: BinReading;
  /** In the order of the plan. */
  readonly #byGroup = new Map<string, Map<Bin, Later>>();
  readonly #byPod = new Map<string, Later[]>();
  readonly #all: Later[] = [];

  constructor({ plan }: Pick<PlanMessage, 'plan'>, reading: BinReading) {
    this.#reading = reading;
    const times = new Map<string, number>();
    for (const bin of [...plan.placements, ...plan.newNodes])
      for (const uid of bin.podUids) times.set(uid, (times.get(uid) ?? 0) + 1);
    const isShared = (bin: Bin): boolean => bin.podUids.some((uid) => (times.get(uid) ?? 0) > 1);
    for (const bins of [plan.placements, plan.newNodes])
      for (const [index, bin] of bins.entries())
        if (bin.topologyGroups.length > 0)
          this.#add({ bin, index, isShared: isShared(bin), pods: undefined });
  }

  /** The bin is judged now, so it is no later one any more. */
  judging(bin: Bin): void {
    for (const group of bin.topologyGroups) this.#byGroup.get(group)?.delete(bin);
  }

  /** A change of the cluster may change which bins hold. */
  heard({ kind, uid }: Pick<ClusterChange, 'kind' | 'uid'>): void {
    if (kind === 'pod') for (const later of this.#byPod.get(uid) ?? []) later.pods = undefined;
    // Claims and nodes carry the promises, in which any pod may be named.
    if (kind === 'claim' || kind === 'node') for (const later of this.#all) later.pods = undefined;
  }

  /**
   * The later bins that share a group with this one, as no other can matter. One that no longer
   * holds would be refused itself, so this bin must do without it.
   */
  beside(bin: Bin): Companions {
    const newNodes: NewNode[] = [];
    const placements: Placement[] = [];
    const all: Pod[] = [];
    for (const later of this.#sharing(bin.topologyGroups)) {
      const pods = this.#podsOf(later);
      if (pods === 'gone') continue;
      if ('options' in later.bin) newNodes.push(later.bin);
      else placements.push(later.bin);
      for (const pod of pods) all.push(pod);
    }
    return { newNodes, placements, pods: all };
  }

  #add(later: Later): void {
    this.#all.push(later);
    const { bin } = later;
    for (const group of bin.topologyGroups) {
      const bins = this.#byGroup.get(group) ?? new Map<Bin, Later>();
      this.#byGroup.set(group, bins.set(bin, later));
    }
    for (const uid of bin.podUids) this.#byPod.set(uid, [...(this.#byPod.get(uid) ?? []), later]);
  }

  #sharing(groups: readonly string[]): Iterable<Later> {
    const [first, ...others] = groups.flatMap((group) => this.#byGroup.get(group) ?? []);
    if (first === undefined) return [];
    if (others.length === 0) return first.values();
    const together = new Set([first, ...others].flatMap((bins) => [...bins.values()]));
    return [...together].sort((a, b) => a.index - b.index);
  }

  #podsOf(later: Later): readonly Pod[] | 'gone' {
    const { podsOf, stillHolds } = this.#reading;
    const { bin, isShared } = later;
    if (later.pods === undefined || isShared)
      later.pods = stillHolds(bin) ? podsOf(bin.podUids) : 'gone';
    return later.pods;
  }
}
