import { annotations, labels, taints, terminationFinalizer } from '@dovetail/core-api';
import { renderRetirement, type Retirement } from '@dovetail/core-disruption';
import { kubeResources, type KubeApi, type KubeObject } from '@dovetail/core-ports';
import { editLive } from './edit.js';

export type NodeRef = { readonly name: string; readonly uid: string };
type RawTaint = { readonly key?: string; readonly effect?: string };

const place = (node: NodeRef) => ({ resource: kubeResources.nodes, name: node.name, uid: node.uid });
const taintsOf = (object: KubeObject): readonly RawTaint[] => ((object['spec'] as { readonly taints?: readonly RawTaint[] } | undefined)?.taints ?? []);
const isDisrupted = (taint: RawTaint): boolean => taint.key === taints.disrupted.key && taint.effect === taints.disrupted.effect;
const withTaint = (object: KubeObject): { readonly spec?: unknown } =>
  taintsOf(object).some(isDisrupted) ? {} : { spec: { taints: [...taintsOf(object), taints.disrupted] } };

/** Taints the node and writes why, in one write: from then on nothing new comes, and a successor knows what was going on. Undefined: it is gone. */
export const writeRetirement = (kube: KubeApi, node: NodeRef, retirement: Retirement): Promise<KubeObject | undefined> =>
  editLive(kube, place(node), (object) => {
    const text = renderRetirement(retirement);
    const tainted = withTaint(object);
    if (object.metadata.annotations?.[annotations.retirement] === text && tainted.spec === undefined) return undefined;
    return { ...tainted, metadata: { annotations: { [annotations.retirement]: text } } };
  });

/** Takes taint and annotation away: the node is a node like any other again. */
export const abandonRetirement = (kube: KubeApi, node: NodeRef): Promise<KubeObject | undefined> =>
  editLive(kube, place(node), (object) => {
    if (object.metadata.annotations?.[annotations.retirement] === undefined && !taintsOf(object).some(isDisrupted)) return undefined;
    return { spec: { taints: taintsOf(object).filter((taint) => !isDisrupted(taint)) }, metadata: { annotations: { [annotations.retirement]: null } } };
  });

/** Tainted, and out of load balancers, as every node is that drains. */
export const markTerminating = (kube: KubeApi, node: NodeRef): Promise<KubeObject | undefined> =>
  editLive(kube, place(node), (object) => {
    const tainted = withTaint(object);
    const labelled = object.metadata.labels?.[labels.excludeFromLoadBalancers] !== undefined;
    if (labelled && tainted.spec === undefined) return undefined;
    return { ...tainted, ...(labelled ? {} : { metadata: { labels: { [labels.excludeFromLoadBalancers]: 'karpenter' } } }) };
  });

/** Takes our finalizer off and deletes the object: the last thing that happens to a node. */
export async function releaseNode(kube: KubeApi, node: NodeRef): Promise<void> {
  await kube.delete({ resource: kubeResources.nodes, name: node.name }, { uid: node.uid });
  await editLive(kube, place(node), withoutFinalizer);
}

/** The patch that takes our finalizer off; undefined when it is not on. */
export function withoutFinalizer(object: KubeObject): Readonly<Record<string, unknown>> | undefined {
  const finalizers = object.metadata.finalizers ?? [];
  return finalizers.includes(terminationFinalizer) ? { metadata: { finalizers: finalizers.filter((one) => one !== terminationFinalizer) } } : undefined;
}
