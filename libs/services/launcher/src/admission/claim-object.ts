import type { AdmissionNumber } from '@dovetail/contracts';
import {
  annotations,
  classHashAnnotations,
  labels,
  type NodeClaim,
  nodeClaimObject,
  type NodeClass,
  type Pool,
  poolHashAnnotations,
  priceCapText,
  renderPromise,
} from '@dovetail/core-api';
import type { RequirementSpec } from '@dovetail/core-kube-model';
import { compareText } from '@dovetail/core-kube-model';
import type { KubeObject } from '@dovetail/core-ports';
import type { BinOption, NewNode } from '@dovetail/core-scheduling';

import { admissionMark } from '../cluster/admission-mark.js';
import { type AdmittedNode, isOfCommand } from './judged.js';

/**
 * A claim's requirements: the bin's, with instance types, zones and capacity types narrowed to the
 * admitted options. A key keeps its `minValues`, unless it names fewer values, as a bin may whose
 * minimum was relaxed: the API refuses a claim that asks for more than it names.
 */
function claimRequirements(
  bin: Pick<NewNode, 'requirements' | 'options'>,
): readonly RequirementSpec[] {
  const named: readonly (readonly [string, (option: BinOption) => string])[] = [
    [labels.instanceType, (option) => option.instanceType],
    [labels.zone, (option) => option.zone],
    [labels.capacityType, (option) => option.capacityType],
  ];
  const narrowed = named.map(([key, valueOf]): RequirementSpec => {
    const minValues = bin.requirements.find(
      (spec) => spec.key === key && spec.minValues !== undefined,
    )?.minValues;
    return {
      key,
      operator: 'In',
      values: [...new Set(bin.options.map(valueOf))].sort(),
      ...(minValues === undefined ? {} : { minValues }),
    };
  });
  const keys = new Set(named.map(([key]) => key));
  return [...bin.requirements.filter((spec) => !keys.has(spec.key)), ...narrowed]
    .map(withinItsValues)
    .sort((a, b) => compareText(a.key, b.key));
}

function withinItsValues(spec: RequirementSpec): RequirementSpec {
  const { minValues, ...rest } = spec;
  return spec.operator === 'In' && minValues !== undefined && minValues > spec.values.length
    ? rest
    : spec;
}

/**
 * The part of a bin's claim that decides what its node will be: judge and claim read it from here.
 */
export const claimTemplate = (
  bin: Pick<NewNode, 'labels' | 'taints' | 'requirements' | 'options'>,
  pool: Pick<Pool, 'labels' | 'startupTaints'>,
): Pick<NodeClaim, 'labels' | 'taints' | 'startupTaints' | 'requirements'> => ({
  labels: { ...pool.labels, ...bin.labels },
  taints: bin.taints,
  startupTaints: pool.startupTaints,
  requirements: claimRequirements(bin),
});

/** The number of an admission, and its place in a trace if it belongs to one. */
type Admitted = { readonly admission: AdmissionNumber; readonly traceparent: string | undefined };

/**
 * The NodeClaim of an admitted bin. Invariant: a claim carries its promise and its admission mark
 * from the moment it exists.
 */
export function claimObject(
  node: AdmittedNode,
  admitted: Admitted,
  nodeClass: NodeClass | undefined,
): KubeObject {
  const { pool, bin } = node;
  return nodeClaimObject({
    name: node.claimName,
    pool: pool.identity,
    poolUid: pool.uid,
    classRef: pool.classRef,
    ...claimTemplate(bin, pool),
    annotations: {
      ...pool.annotations,
      ...hashAnnotations(pool, nodeClass),
      ...(bin.minValuesRelaxed ? { 'karpenter.sh/nodeclaim-min-values-relaxed': 'true' } : {}),
      ...admissionAnnotations(node, admitted),
    },
    requests: bin.requests,
    ...(pool.expireAfterMs === undefined ? {} : { expireAfterMs: pool.expireAfterMs }),
    ...(pool.terminationGracePeriodMs === undefined
      ? {}
      : { terminationGracePeriodMs: pool.terminationGracePeriodMs }),
  });
}

/** The hashes by which Karpenter's users and tools recognise drift of the pool and the class. */
const hashAnnotations = (
  pool: Pool,
  nodeClass: NodeClass | undefined,
): Readonly<Record<string, string>> => ({
  ...poolHashAnnotations(pool),
  ...(nodeClass === undefined ? {} : classHashAnnotations(nodeClass)),
});

const dearestOf = ({ options }: Pick<NewNode, 'options'>): number =>
  Math.max(...options.map(({ priceMicrosPerHour }) => priceMicrosPerHour));

const admissionAnnotations = (
  { plan, bin, binId, promise }: AdmittedNode,
  { admission, traceparent }: Admitted,
): Readonly<Record<string, string>> => ({
  [annotations.planned]: new Date(plan.createdMs).toISOString(),
  [annotations.promise]: renderPromise(promise),
  [annotations.admission]: admissionMark({ admission, planId: plan.id, binId }),
  ...(traceparent === undefined ? {} : { [annotations.traceparent]: traceparent }),
  // The requirements allow any mix of the options' types, zones and capacity types. A mix that is
  // dearer than each option would not save what the command was judged by.
  ...(isOfCommand(plan) ? { [annotations.maxPricePerHour]: priceCapText(dearestOf(bin)) } : {}),
});
