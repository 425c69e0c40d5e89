import { compareText } from '@dovetail/core-kube-model';

import { isTerminal, type Node, type Pod, type TaintSpec } from '../model/objects.js';
import { podRequests } from '../model/pod-requests.js';
import { addAmounts, type Amounts, amountsOf } from '../model/quantity.js';
import type { KubeStore } from '../store/store.js';

/** A host port that a pod takes on its node. */
export type HostPortUse = { readonly ip: string; readonly port: number; readonly protocol: string };

/** One node with the pods on it. Amounts are thousandths. */
export type NodeInfo = {
  readonly name: string;
  readonly node: Node;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly TaintSpec[];
  readonly allocatable: Amounts;
  readonly pods: ReadonlyMap<string, Pod>;
  /** Those of the pods that want none of some others near them. */
  readonly repelling: ReadonlyMap<string, Pod>;
  readonly requested: Amounts;
};

const minus = (amounts: Amounts): Amounts =>
  Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, -amount]));

/** Host ports that a pod takes on its node. */
export function hostPortsOf(pod: Pod): readonly HostPortUse[] {
  const containers = [
    ...pod.spec.containers,
    ...(pod.spec.initContainers ?? []).filter((one) => one.restartPolicy === 'Always'),
  ];
  return containers.flatMap((container) =>
    (container.ports ?? []).flatMap((port) => {
      const number = port.hostPort ?? (pod.spec.hostNetwork === true ? port.containerPort : 0);
      return number > 0
        ? [{ ip: port.hostIP ?? '0.0.0.0', port: number, protocol: port.protocol ?? 'TCP' }]
        : [];
    }),
  );
}

type MutableInfo = {
  name: string;
  node: Node | undefined;
  labels: Readonly<Record<string, string>>;
  taints: readonly TaintSpec[];
  allocatable: Amounts;
  pods: Map<string, Pod>;
  repelling: Map<string, Pod>;
  requested: Amounts;
};

function place(info: MutableInfo, pod: Pod): void {
  info.pods.set(pod.metadata.uid, pod);
  if (
    pod.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution !== undefined
  )
    info.repelling.set(pod.metadata.uid, pod);
}

/** Nodes and what is on them, kept up to date by the store's changes. */
export class ClusterCache {
  readonly #nodes = new Map<string, MutableInfo>();
  #sorted: readonly NodeInfo[] | undefined;

  constructor(store: KubeStore) {
    for (const node of store.state.table('nodes').values()) this.setNode(node);
    for (const pod of store.state.table('pods').values()) this.setPod(pod as Pod, undefined);
  }

  /** All nodes, by name. */
  nodes(): readonly NodeInfo[] {
    return (this.#sorted ??= (
      [...this.#nodes.values()].filter((info) => info.node !== undefined) as NodeInfo[]
    ).sort((left, right) => compareText(left.name, right.name)));
  }

  node(name: string): NodeInfo | undefined {
    const info = this.#nodes.get(name);
    return info?.node === undefined ? undefined : (info as NodeInfo);
  }

  setNode(node: Node): void {
    const info = this.#info(node.metadata.name);
    if (info.node === undefined) this.#sorted = undefined;
    info.node = node;
    info.labels = node.metadata.labels ?? {};
    info.taints = node.spec?.taints ?? [];
    info.allocatable = amountsOf(node.status?.allocatable);
  }

  removeNode(node: Node): void {
    const info = this.#nodes.get(node.metadata.name);
    if (info === undefined) return;
    info.node = undefined;
    this.#sorted = undefined;
    if (info.pods.size === 0) this.#nodes.delete(node.metadata.name);
  }

  /** Puts the pod where it is now and takes it from where it was. */
  setPod(pod: Pod, before: Pod | undefined): void {
    const holdsNow = (pod.spec.nodeName ?? '') !== '' && !isTerminal(pod);
    const heldBefore =
      before !== undefined && (before.spec.nodeName ?? '') !== '' && !isTerminal(before);
    if (heldBefore && holdsNow && before.spec.nodeName === pod.spec.nodeName) {
      place(this.#info(pod.spec.nodeName as string), pod);
      return;
    }
    if (heldBefore) this.removePod(before);
    if (!holdsNow) return;
    const info = this.#info(pod.spec.nodeName as string);
    if (info.pods.has(pod.metadata.uid)) return;
    place(info, pod);
    info.requested = addAmounts(info.requested, { ...podRequests(pod), pods: 1000 });
  }

  removePod(pod: Pod): void {
    const name = pod.spec.nodeName ?? '';
    const info = this.#nodes.get(name);
    if (info === undefined || !info.pods.delete(pod.metadata.uid)) return;
    info.repelling.delete(pod.metadata.uid);
    info.requested = addAmounts(info.requested, minus({ ...podRequests(pod), pods: 1000 }));
    if (info.node === undefined && info.pods.size === 0) this.#nodes.delete(name);
  }

  #info(name: string): MutableInfo {
    let info = this.#nodes.get(name);
    if (info === undefined) {
      info = {
        name,
        node: undefined,
        labels: {},
        taints: [],
        allocatable: {},
        pods: new Map(),
        repelling: new Map(),
        requested: {},
      };
      this.#nodes.set(name, info);
    }
    return info;
  }
}
