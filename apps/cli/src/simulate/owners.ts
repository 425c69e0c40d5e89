import { isTerminal, isTerminating, type Pod, recordOf } from '@dovetail/core-kube-model';

import type { Item } from './kinds.js';

/** An owner that says its kind and name, in the namespace of what it owns. */
type Owner = { readonly uid: string; readonly kind: string; readonly name: string };

const nameKey = ({ kind, name }: Omit<Owner, 'uid'>, namespace: string): string =>
  `${kind}/${namespace}/${name}`;

/** Looks up workloads of the input by what an owner reference says of them. */
class Workloads {
  readonly #uids: ReadonlySet<string>;
  readonly #byName: ReadonlyMap<string, string>;

  constructor(items: readonly Item[]) {
    this.#uids = new Set(items.map(({ uid }) => uid));
    this.#byName = new Map(items.map((item) => [nameKey(item, item.namespace), item.uid]));
  }

  /**
   * The UID of the owner, or of the workload above it if the input lacks the owner. A workload of a
   * repository has no UID, so its name counts.
   */
  uidOf(owner: Owner, namespace: string, labels: Readonly<Record<string, unknown>>): string {
    if (this.#uids.has(owner.uid)) return owner.uid;
    const above = this.#nameOf(owner, namespace) ?? this.#aboveOf(owner, namespace, labels);
    return above ?? owner.uid;
  }

  #nameOf(owner: Omit<Owner, 'uid'>, namespace: string): string | undefined {
    return this.#byName.get(nameKey(owner, namespace));
  }

  /**
   * The workload that made an owner of this name: Deployments append the hash of their template to
   * the names of their ReplicaSets, and CronJobs the time to those of their Jobs.
   */
  #aboveOf(
    { kind, name }: Owner,
    namespace: string,
    labels: Readonly<Record<string, unknown>>,
  ): string | undefined {
    const hash = labels['pod-template-hash'];
    if (kind === 'ReplicaSet' && typeof hash === 'string' && name.endsWith(`-${hash}`))
      return this.#nameOf({ kind: 'Deployment', name: name.slice(0, -hash.length - 1) }, namespace);
    const run = /^(.+)-[0-9]+$/.exec(name)?.[1];
    return kind === 'Job' && run !== undefined
      ? this.#nameOf({ kind: 'CronJob', name: run }, namespace)
      : undefined;
  }
}

function controllerOf(item: Item): Owner | undefined {
  const references = recordOf(item.object['metadata'])['ownerReferences'];
  const controller = (Array.isArray(references) ? references : [])
    .map(recordOf)
    .find((one) => one['controller'] === true);
  if (typeof controller?.['uid'] !== 'string') return undefined;
  const { uid, kind, name } = controller;
  return { uid, kind: String(kind), name: String(name) };
}

/**
 * The workload that controls each workload, by UID. One that is not in the input asks for no pods,
 * so its children ask themselves.
 */
export function parentsOf(items: readonly Item[]): ReadonlyMap<string, string> {
  const uids = new Set(items.map((item) => item.uid));
  const workloads = new Workloads(items);
  return new Map(
    items.flatMap((item) => {
      const owner = controllerOf(item);
      if (owner === undefined) return [];
      const parent = workloads.uidOf(owner, item.namespace, {});
      return parent !== item.uid && uids.has(parent) ? [[item.uid, parent] as const] : [];
    }),
  );
}

/** The names of the pods that live under each workload, at any depth, by the workload's UID. */
export function livingPods(
  given: readonly Pod[],
  items: readonly Item[],
  parents: ReadonlyMap<string, string>,
): ReadonlyMap<string, ReadonlySet<string>> {
  const workloads = new Workloads(items);
  const living = new Map<string, Set<string>>();
  for (const pod of given) {
    if (isTerminal(pod) || isTerminating(pod) || pod.owner === undefined) continue;
    const above = new Set<string>();
    let uid: string | undefined = workloads.uidOf(pod.owner, pod.namespace, pod.labels);
    for (; uid !== undefined && !above.has(uid); uid = parents.get(uid)) {
      above.add(uid);
      living.set(uid, (living.get(uid) ?? new Set()).add(pod.name));
    }
  }
  return living;
}
