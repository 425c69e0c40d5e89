import { annotations, labels, taints, terminationFinalizer } from '@dovetail/core-api';
import { isTaintedDisrupted } from '@dovetail/core-cluster';
import {
  parseRetirement,
  renderRetirement,
  type Retirement,
  type RetirementChange,
  taintsAtOnce,
} from '@dovetail/core-disruption';
import type { Node } from '@dovetail/core-kube-model';
import { type KubeDeletes, type KubeObject, kubeResources } from '@dovetail/core-ports';
import {
  type Change,
  type ChangedObject,
  changeGuarded,
  changeLive,
  type KubeChanges,
  withoutFinalizer,
} from '@dovetail/service-kit';

/** A node to write to. Every write answers the object as it is then; undefined when it is gone. */
export type NodeRef = { readonly name: string; readonly uid: string };
type RawTaint = { readonly key?: string; readonly effect?: string };

const place = ({ name, uid }: NodeRef): ChangedObject => ({
  resource: kubeResources.nodes,
  name,
  uid,
});

const taintsOf = (object: KubeObject): readonly RawTaint[] =>
  (object['spec'] as { readonly taints?: readonly RawTaint[] } | undefined)?.taints ?? [];

const isDisruptedTaint = ({ key, effect }: RawTaint): boolean =>
  key === taints.disrupted.key && effect === taints.disrupted.effect;

const isTainted = (object: KubeObject): boolean => taintsOf(object).some(isDisruptedTaint);

const retirementOf = ({ metadata }: KubeObject): Retirement | undefined =>
  parseRetirement(metadata.annotations?.[annotations.retirement]);

const taintAdded = (object: KubeObject): { readonly spec?: unknown } =>
  isTainted(object) ? {} : { spec: { taints: [...taintsOf(object), taints.disrupted] } };

/** The node as the watch has shown it, with the parts that changes of its retirement read. */
const watched = (node: Node): KubeObject => ({
  metadata: { name: node.name, uid: node.uid, annotations: { ...node.annotations } },
  spec: { taints: node.taints },
});

/**
 * Whether a patch may be made from the watched node. The times of NoExecute taints are not in it.
 */
const isWhole = ({ resourceVersion, taints: held }: Node): boolean =>
  resourceVersion !== '' && held.every(({ effect }) => effect !== 'NoExecute');

/**
 * Changes the retirement of a node by what stands there at the moment of the write. The patch is
 * made from what the watch has shown, which costs one call: the API server refuses it if the node
 * has moved on, and then the node is read. It is also read where nothing seems to be left to write.
 * A cause that
 * keeps new pods away from the beginning on adds the taint in the same write. A successor then
 * knows what was going on. Answers the retirement that stands afterwards; undefined when there is
 * none, or no node.
 */
export async function changeRetirement(
  kube: KubeChanges,
  node: Node,
  change: RetirementChange,
): Promise<Retirement | undefined> {
  const decide = (object: KubeObject): Change => {
    const live = retirementOf(object);
    const next = change(live) ?? live;
    if (next === undefined) return undefined;
    const taint = taintsAtOnce(next) ? taintAdded(object) : {};
    const text = renderRetirement(next);
    const isWritten = object.metadata.annotations?.[annotations.retirement] === text;
    if (isWritten && taint.spec === undefined) return undefined;
    return { ...taint, metadata: { annotations: { [annotations.retirement]: text } } };
  };
  const first = { value: watched(node), resourceVersion: node.resourceVersion };
  const isToWrite = isWhole(node) && decide(first.value) !== undefined;
  const written = await (isToWrite
    ? changeGuarded({ kube, ref: place(node), read: (object) => object, change: decide, first })
    : changeLive(kube, place(node), decide));
  return written === undefined ? undefined : retirementOf(written);
}

/** Taints a node that is being retired: its pods have another place now. */
export const taintRetiring = (kube: KubeChanges, node: NodeRef): Promise<KubeObject | undefined> =>
  changeLive(kube, place(node), (object): Change => {
    const isToTaint = retirementOf(object) !== undefined && !isTainted(object);
    return isToTaint ? taintAdded(object) : undefined;
  });

/**
 * Takes taint and annotation off: the node is a node like any other again. Only the annotation that
 * the decision was made on is taken off; one that was written since then stays, with its taint.
 */
export const abandonRetirement = (
  kube: KubeChanges,
  node: NodeRef,
  judged: string | undefined,
): Promise<KubeObject | undefined> =>
  changeLive(kube, place(node), (object): Change => {
    const text = object.metadata.annotations?.[annotations.retirement];
    if (text !== judged || (text === undefined && !isTainted(object))) return undefined;
    return {
      spec: { taints: taintsOf(object).filter((taint) => !isDisruptedTaint(taint)) },
      metadata: { annotations: { [annotations.retirement]: null } },
    };
  });

/** Whether a node has what `markTerminating` writes. */
export const isMarkedTerminating = (node: Pick<Node, 'labels' | 'taints'>): boolean =>
  node.labels[labels.excludeFromLoadBalancers] !== undefined && isTaintedDisrupted(node);

/** Taints the node and takes it out of load balancers, as every node that drains (Karpenter's). */
export const markTerminating = (
  kube: KubeChanges,
  node: NodeRef,
): Promise<KubeObject | undefined> =>
  changeLive(kube, place(node), (object): Change => {
    const isLabelled = object.metadata.labels?.[labels.excludeFromLoadBalancers] !== undefined;
    if (isLabelled && isTainted(object)) return undefined;
    const label = { metadata: { labels: { [labels.excludeFromLoadBalancers]: 'karpenter' } } };
    return { ...taintAdded(object), ...(isLabelled ? {} : label) };
  });

/**
 * Deletes the object and takes our finalizer off: the last step of a node's end. Answers the
 * finalizers of others that keep the object. Empty: it is gone.
 */
export async function releaseNode(
  kube: KubeChanges & KubeDeletes,
  node: NodeRef,
): Promise<readonly string[]> {
  await kube.delete({ resource: kubeResources.nodes, name: node.name }, { uid: node.uid });
  const left = await changeLive(kube, place(node), ({ metadata }) =>
    withoutFinalizer(metadata, terminationFinalizer),
  );
  return (left?.metadata.finalizers ?? []).filter((name) => name !== terminationFinalizer);
}
