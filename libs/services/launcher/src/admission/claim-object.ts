import { annotations, hashVersion, labels, poolKey, poolLabelOf, renderPromise, terminationFinalizer, type NodeClass, type Pool } from '@dovetail/core-api';
import { formatResources, type RequirementSpec, type Taint } from '@dovetail/core-kube-model';
import { kubeResources, type KubeObject } from '@dovetail/core-ports';
import type { BinOption, NewNode } from '@dovetail/core-scheduling';
import type { AdmissionNumber } from '@dovetail/contracts';
import type { AdmittedNode } from './judged.js';
import { admissionMark } from './number.js';

/** `karpenter.k8s.aws/ec2nodeclass`: the label that names a node's class, as Karpenter builds it from group and kind. */
export const classLabelOf = (ref: { readonly group: string; readonly kind: string }): string => `${ref.group}/${ref.kind.toLowerCase()}`;

/**
 * A claim's requirements: the bin's, with instance types, zones and capacity types narrowed to the options that were admitted.
 * `minValues` on a key stays with it.
 */
export function claimRequirements(bin: Pick<NewNode, 'requirements' | 'options'>): readonly RequirementSpec[] {
  const named: readonly (readonly [string, (option: BinOption) => string])[] = [
    [labels.instanceType, (option) => option.instanceType], [labels.zone, (option) => option.zone], [labels.capacityType, (option) => option.capacityType],
  ];
  const narrowed = named.map(([key, valueOf]): RequirementSpec => {
    const minValues = bin.requirements.find((spec) => spec.key === key && spec.minValues !== undefined)?.minValues;
    return { key, operator: 'In', values: [...new Set(bin.options.map(valueOf))].sort(), ...(minValues === undefined ? {} : { minValues }) };
  });
  const keys = new Set(named.map(([key]) => key));
  return [...bin.requirements.filter((spec) => !keys.has(spec.key)), ...narrowed].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
}

/** The NodeClaim of an admitted bin. Its promise and admission are on it from the first moment: there is no claim without them. */
export function claimObject(node: AdmittedNode, admission: AdmissionNumber, nodeClass: NodeClass | undefined): KubeObject {
  const { pool, bin } = node;
  return {
    apiVersion: `${kubeResources.nodeClaims.group}/${kubeResources.nodeClaims.version}`,
    kind: kubeResources.nodeClaims.kind,
    metadata: {
      name: node.claimName,
      labels: { ...pool.labels, ...bin.labels, [poolLabelOf(pool.identity.kind)]: pool.identity.name, [classLabelOf(pool.classRef)]: pool.classRef.name },
      annotations: {
        ...pool.annotations,
        [annotations.nodePoolHash]: pool.hash,
        [annotations.nodePoolHashVersion]: hashVersion,
        ...(nodeClass === undefined ? {} : { [annotations.nodeClassHash]: nodeClass.hash, [annotations.nodeClassHashVersion]: hashVersion }),
        ...(bin.minValuesRelaxed ? { 'karpenter.sh/nodeclaim-min-values-relaxed': 'true' } : {}),
        [annotations.promise]: renderPromise(node.promise),
        [annotations.admission]: admissionMark({ admission, planId: node.plan.id, binId: node.binId }),
      },
      finalizers: [terminationFinalizer],
      ownerReferences: [ownerOf(pool)],
    },
    spec: claimSpec(pool, bin),
  };
}

function claimSpec(pool: Pool, bin: NewNode): Readonly<Record<string, unknown>> {
  return {
    requirements: claimRequirements(bin).map(({ minValues, ...spec }) => ({ ...spec, ...(minValues === undefined ? {} : { minValues }) })),
    resources: { requests: formatResources(bin.requests) },
    ...(bin.taints.length > 0 ? { taints: bin.taints.map(taintObject) } : {}),
    ...(pool.startupTaints.length > 0 ? { startupTaints: pool.startupTaints.map(taintObject) } : {}),
    nodeClassRef: pool.classRef,
    expireAfter: durationText(pool.expireAfterMs),
    ...(pool.terminationGracePeriodMs === undefined ? {} : { terminationGracePeriod: durationText(pool.terminationGracePeriodMs) }),
  };
}

const taintObject = (taint: Taint): Readonly<Record<string, string>> =>
  ({ key: taint.key, effect: taint.effect, ...(taint.value === undefined || taint.value === '' ? {} : { value: taint.value }) });

/** A duration as Karpenter's CRDs take it; absent means never. */
export const durationText = (ms: number | undefined): string => (ms === undefined ? 'Never' : `${Math.floor(ms / 1000)}s`);

function ownerOf(pool: Pool): { apiVersion: string; kind: string; name: string; uid: string; blockOwnerDeletion: boolean } {
  const resource = pool.identity.kind === 'NodePool' ? kubeResources.nodePools : kubeResources.provisioners;
  return { apiVersion: `${resource.group}/${resource.version}`, kind: resource.kind, name: pool.identity.name, uid: pool.uid, blockOwnerDeletion: true };
}

/** `NodePool/default`, for messages. */
export const poolOf = (node: AdmittedNode): string => poolKey(node.pool.identity);
