import { annotations, hashVersion, labels, nodeClaimObject, renderPromise, type NodeClass } from '@dovetail/core-api';
import { compareCodeUnits } from '@dovetail/core-ec2-model';
import type { RequirementSpec } from '@dovetail/core-kube-model';
import type { KubeObject } from '@dovetail/core-ports';
import type { BinOption, NewNode } from '@dovetail/core-scheduling';
import type { AdmissionNumber } from '@dovetail/contracts';
import type { AdmittedNode } from './judged.js';
import { admissionMark } from './number.js';

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
  return [...bin.requirements.filter((spec) => !keys.has(spec.key)), ...narrowed].sort((a, b) => compareCodeUnits(a.key, b.key));
}

/** The NodeClaim of an admitted bin. Its promise and admission are on it from the first moment: there is no claim without them. */
export function claimObject(node: AdmittedNode, admission: AdmissionNumber, nodeClass: NodeClass | undefined): KubeObject {
  const { pool, bin } = node;
  return nodeClaimObject({
    name: node.claimName, pool: pool.identity, poolUid: pool.uid, classRef: pool.classRef,
    labels: { ...pool.labels, ...bin.labels },
    annotations: {
      ...pool.annotations,
      [annotations.nodePoolHash]: pool.hash,
      [annotations.nodePoolHashVersion]: hashVersion,
      ...(nodeClass === undefined ? {} : { [annotations.nodeClassHash]: nodeClass.hash, [annotations.nodeClassHashVersion]: hashVersion }),
      ...(bin.minValuesRelaxed ? { 'karpenter.sh/nodeclaim-min-values-relaxed': 'true' } : {}),
      [annotations.planned]: new Date(node.plan.createdMs).toISOString(),
      [annotations.promise]: renderPromise(node.promise),
      [annotations.admission]: admissionMark({ admission, planId: node.plan.id, binId: node.binId }),
    },
    taints: bin.taints, startupTaints: pool.startupTaints,
    requirements: claimRequirements(bin), requests: bin.requests,
    ...(pool.expireAfterMs === undefined ? {} : { expireAfterMs: pool.expireAfterMs }),
    ...(pool.terminationGracePeriodMs === undefined ? {} : { terminationGracePeriodMs: pool.terminationGracePeriodMs }),
  });
}
