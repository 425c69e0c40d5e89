import { type Pool, poolKey, poolLabelOf } from '@dovetail/core-api';
import {
  firstUntolerated,
  isCompatible,
  type Namespace,
  type Pod,
  type Requirements,
  requirementsFromLabels,
  requirementsOf,
} from '@dovetail/core-kube-model';

import { TiedNamespaces } from './tied-namespaces.js';

/**
 * Cuts pods into groups that can be planned side by side. Pods that could use the same pool belong
 * together. So do pods of namespaces in which required spread or affinity ties pods to each other.
 * A preference ties no pods. The result is deterministic, and names are stable while the pools are.
 */
export function groupsOf(
  pods: readonly Pod[],
  pools: readonly Pool[],
  namespaces: readonly Namespace[] = [],
): ReadonlyMap<string, readonly Pod[]> {
  const sides = pools
    .filter((pool) => pool.deletionMs === undefined && pool.replicas === undefined)
    .map((pool) => ({ pool, requirements: poolSide(pool) }));
  const joined = new Joined();
  const keys = new Map<string, readonly string[]>();
  const tied = new TiedNamespaces(pods, namespaces);
  for (const [one, other] of tied.pairs) joined.join(namespaceKey(one), namespaceKey(other));
  const memo = new Map<string, readonly string[]>();
  for (const pod of pods) {
    const usable = usablePools(pod, sides, memo);
    const own = tied.has(pod.namespace) ? [...usable, namespaceKey(pod.namespace)] : usable;
    keys.set(pod.uid, own);
    for (const key of own) joined.join(own[0] ?? key, key);
  }
  const groups = new Map<string, Pod[]>();
  for (const pod of pods) {
    const [first] = keys.get(pod.uid) ?? [];
    const name = first === undefined ? 'no-pool' : joined.nameOf(first);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [pod]);
    else group.push(pod);
  }
  return groups;
}

const namespaceKey = (name: string): string => `namespace ${name}`;

type Side = { readonly pool: Pool; readonly requirements: Requirements };

/** The requirements that every node of the pool meets. All other labels are open. */
function poolSide(pool: Pool): Requirements {
  return new Map([
    ...requirementsOf(pool.requirements),
    ...requirementsFromLabels({
      ...pool.labels,
      [poolLabelOf(pool.identity.kind)]: pool.identity.name,
    }),
  ]);
}

// Pods are looked at again and again while they wait.
const selections = new WeakMap<Pod, string>();
function selectionOf(pod: Pod): string {
  const known =
    selections.get(pod) ??
    JSON.stringify([pod.nodeSelector, pod.requiredNodeAffinity, pod.tolerations]);
  selections.set(pod, known);
  return known;
}

/** The pools that a pod could use, as far as these pools were asked. */
type Answer = { readonly asked: readonly Pool[]; readonly usable: readonly string[] };

// Only a change of a pool makes another answer, and a pod may have thousands of alternatives.
const answers = new WeakMap<Pod, Answer>();

function usablePools(
  pod: Pod,
  sides: readonly Side[],
  memo: Map<string, readonly string[]>,
): readonly string[] {
  const last = answers.get(pod);
  if (
    last?.asked.length === sides.length &&
    sides.every(({ pool }, index) => last.asked[index] === pool)
  )
    return last.usable;
  const key = selectionOf(pod);
  const usable = memo.get(key) ?? askedPools(pod, sides);
  memo.set(key, usable);
  answers.set(pod, { asked: sides.map(({ pool }) => pool), usable });
  return usable;
}

function askedPools(pod: Pod, sides: readonly Side[]): readonly string[] {
  const alternatives = alternativesOf(pod);
  return sides
    .filter(
      ({ pool, requirements }) =>
        firstUntolerated(pool.taints, pod.tolerations) === undefined &&
        alternatives.some((wanted) => isCompatible(requirements, wanted, openKeys)),
    )
    .map(({ pool }) => poolKey(pool.identity));
}

/**
 * The instance may still decide every label but the pool's. A group that is too large costs less
 * than one that is too small.
 */
const poolLabels: ReadonlySet<string> = new Set([
  'karpenter.sh/nodepool',
  'karpenter.sh/provisioner-name',
]);
const openKeys = {
  allowUndefined: { has: (key: string) => !poolLabels.has(key) } as ReadonlySet<string>,
};

function alternativesOf(pod: Pod): readonly Requirements[] {
  const selector = requirementsFromLabels(pod.nodeSelector);
  const terms = pod.requiredNodeAffinity ?? [];
  if (terms.length === 0) return [selector];
  return terms.map((term) => new Map([...selector, ...requirementsOf(term.matchExpressions)]));
}

/** Disjoint sets of keys. */
class Joined {
  readonly #parents = new Map<string, string>();

  join(left: string, right: string): void {
    const [a, b] = [this.#rootOf(left), this.#rootOf(right)];
    if (a !== b) this.#parents.set(a < b ? b : a, a < b ? a : b);
  }

  /** The smallest key of the set, which names the group. */
  nameOf(key: string): string {
    return this.#rootOf(key);
  }

  #rootOf(key: string): string {
    const parent = this.#parents.get(key);
    if (parent === undefined || parent === key) return key;
    const root = this.#rootOf(parent);
    this.#parents.set(key, root);
    return root;
  }
}
