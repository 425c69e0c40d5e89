import type { StateKind, StateValue } from '@dovetail/contracts';
import {
  annotations,
  awsNodeTemplateOf,
  ec2NodeClassOf,
  inlineProviderOf,
  type KubernetesVersion,
  type NodeClaim,
  nodeClaimOf,
  nodePoolOf,
  provisionerOf,
} from '@dovetail/core-api';
import {
  csiNodeOf,
  daemonSetOf,
  EqualParts,
  isBound,
  managedAnnotations,
  namespaceOf,
  nodeOf,
  type Parsed,
  pdbOf,
  podOf,
  pvcOf,
  pvOf,
  storageClassOf,
} from '@dovetail/core-kube-model';
import { type KubeObject, type KubeResource, kubeResources } from '@dovetail/core-ports';

/**
 * The kinds that pod-watcher writes. The launcher writes promises, verdicts and the admission head.
 */
export const ownKinds = [
  'pod',
  'node',
  'claim',
  'pool',
  'nodeclass',
  'daemonset',
  'pdb',
  'namespace',
  'pv',
  'pvc',
  'storageclass',
  'csinode',
] as const satisfies readonly StateKind[];

/**
 * An object as the state feed carries it, or the reason why it cannot be read. One Provisioner may
 * be a pool and a class.
 */
export type Projection =
  | { readonly ok: true; readonly uid: string; readonly states: readonly StateValue[] }
  | {
      readonly ok: false;
      readonly uid: string;
      readonly name: string;
      readonly field: string;
      readonly value: string;
      readonly remedy: string;
    };

/** A kind of object that planning reads. */
export type Source = {
  readonly resource: KubeResource;
  /** The kinds of state that its objects become. */
  readonly kinds: readonly StateKind[];
  readonly project: (object: KubeObject) => Projection;
  /** A cluster need not have it installed. Without it there are no such objects. */
  readonly optional: boolean;
};

/** A resource whose objects are one state each. */
const one = <K extends StateValue['kind']>(
  resource: KubeResource,
  kind: K,
  parse: (raw: unknown) => Parsed<Extract<StateValue, { kind: K }>['value']>,
): Source => ({
  resource,
  kinds: [kind],
  optional: false,
  project: (object) =>
    projected(object, [mapped(parse(object), (value) => ({ kind, value }) as StateValue)]),
});

/** Karpenter's APIs before v1. The version decides the image family of classes that name none. */
const legacySources = (version: KubernetesVersion): readonly Source[] => [
  {
    ...one(kubeResources.awsNodeTemplates, 'nodeclass', (raw) => awsNodeTemplateOf(raw, version)),
    optional: true,
  },
  {
    resource: kubeResources.provisioners,
    kinds: ['pool', 'nodeclass'],
    optional: true,
    project: (object) =>
      projected(object, [
        mapped(provisionerOf(object), (value): StateValue => ({ kind: 'pool', value })),
        inlineClass(object, version),
      ]),
  },
];

/** Every watch of this service, for a cluster of this version. */
export const sourcesFor = (
  version: KubernetesVersion,
  equalParts = new EqualParts(),
): readonly Source[] => [
  one(kubeResources.nodePools, 'pool', nodePoolOf),
  one(kubeResources.ec2NodeClasses, 'nodeclass', ec2NodeClassOf),
  ...legacySources(version),
  one(
    kubeResources.nodeClaims,
    'claim',
    equalParts.reading((raw) => mapped(nodeClaimOf(raw), forPlanning)),
  ),
  one(kubeResources.nodes, 'node', equalParts.reading(nodeOf)),
  one(kubeResources.daemonSets, 'daemonset', daemonSetOf),
  one(kubeResources.namespaces, 'namespace', namespaceOf),
  one(kubeResources.podDisruptionBudgets, 'pdb', pdbOf),
  one(kubeResources.persistentVolumes, 'pv', pvOf),
  one(kubeResources.persistentVolumeClaims, 'pvc', pvcOf),
  one(kubeResources.storageClasses, 'storageclass', storageClassOf),
  one(kubeResources.csiNodes, 'csinode', csiNodeOf),
  one(kubeResources.pods, 'pod', equalParts.reading(podOf, isBound)),
];

/**
 * A claim with the annotations that planning reads. A launch intent is up to 19 kB, and would be in
 * the memory of every solver.
 */
function forPlanning(claim: NodeClaim): NodeClaim {
  const { [annotations.launchIntent]: _intent, ...rest } = managedAnnotations(claim.annotations);
  return { ...claim, annotations: rest };
}

const mapped = <A, B>(read: Parsed<A>, map: (value: A) => B): Parsed<B> =>
  read.ok ? { ok: true, value: map(read.value) } : read;

function inlineClass(
  object: KubeObject,
  version: KubernetesVersion,
): Parsed<StateValue | undefined> {
  return mapped(inlineProviderOf(object, version), (value) =>
    value === undefined ? undefined : { kind: 'nodeclass', value },
  );
}

function projected(
  object: KubeObject,
  reads: readonly Parsed<StateValue | undefined>[],
): Projection {
  const uid = object.metadata.uid ?? '';
  const { name } = object.metadata;
  const wrong = reads.find((read) => !read.ok);
  if (wrong !== undefined && !wrong.ok)
    return { ok: false, uid, name, field: wrong.field, value: wrong.value, remedy: wrong.remedy };
  return {
    ok: true,
    uid,
    states: reads.flatMap((read) => (read.ok && read.value !== undefined ? [read.value] : [])),
  };
}
