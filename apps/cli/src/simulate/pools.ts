import {
  awsNodeTemplateOf,
  ec2NodeClassOf,
  inlineProviderOf,
  type KubernetesVersion,
  type NodeClass,
  type NodeClassRef,
  nodePoolOf,
  type Pool,
  provisionerOf,
} from '@dovetail/core-api';
import { imageProblems, kubeletProblems } from '@dovetail/core-ec2-model';
import { type Parsed, type Raw, recordOf } from '@dovetail/core-kube-model';
import type { PoolOptions } from '@dovetail/core-scheduling';

import { InputError } from '../manifests/input-error.js';
import { errorAt, valueOf } from '../manifests/objects.js';
import type { Catalog } from './catalog.js';
import type { Inventory, Item } from './kinds.js';
import { all } from './readable.js';

/**
 * The Kubernetes version where no node of the input tells one. It decides which images there are,
 * and the family of a legacy class without one.
 */
const versionByDefault: KubernetesVersion = { major: 1, minor: 34 };

/** The newest version of the kubelets of the input, which is the control plane's at most. */
function kubernetesOf(inventory: Inventory): KubernetesVersion {
  const minors = inventory.of('Node').flatMap(({ object }) => {
    const { kubeletVersion } = recordOf(recordOf(object['status'])['nodeInfo']);
    const minor = /^v1\.([0-9]+)/.exec(String(kubeletVersion))?.[1];
    return minor === undefined ? [] : [Number(minor)];
  });
  return minors.length === 0 ? versionByDefault : { major: 1, minor: Math.max(...minors) };
}

const refKey = (ref: Pick<NodeClassRef, 'kind' | 'name'>): string => `${ref.kind}/${ref.name}`;

/** The class that stands in for a missing one: AL2023 with the standard disks. */
export function standardClass(ref: NodeClassRef): NodeClass {
  return {
    ref,
    uid: refKey(ref),
    resourceVersion: '',
    generation: 0,
    ready: true,
    hash: '',
    subnetSelectorTerms: [],
    securityGroupSelectorTerms: [],
    amiFamily: 'AL2023',
    amiSelectorTerms: [{ alias: 'al2023@latest' }],
    tags: {},
    kubelet: {},
    blockDeviceMappings: [],
    detailedMonitoring: false,
    metadataOptions: {
      httpEndpoint: 'enabled',
      httpProtocolIpv6: 'disabled',
      httpPutResponseHopLimit: 1,
      httpTokens: 'required',
    },
    status: { subnets: [], securityGroups: [], amis: [] },
  };
}

type ClassParser = (raw: unknown, kubernetes: KubernetesVersion) => Parsed<NodeClass | undefined>;

/** How each kind of class is read, and the kind by which pools refer to it. */
const classReaders: readonly {
  readonly kind: string;
  readonly ref: NodeClassRef['kind'];
  readonly parse: ClassParser;
}[] = [
  { kind: 'EC2NodeClass', ref: 'EC2NodeClass', parse: ec2NodeClassOf },
  { kind: 'AWSNodeTemplate', ref: 'AWSNodeTemplate', parse: awsNodeTemplateOf },
  { kind: 'Provisioner', ref: 'InlineProvider', parse: inlineProviderOf },
];

/** The classes by reference; undefined for one that cannot be used, which is a problem. */
async function classesOf(
  inventory: Inventory,
): Promise<ReadonlyMap<string, NodeClass | undefined>> {
  const classes = new Map<string, NodeClass | undefined>();
  const kubernetes = kubernetesOf(inventory);
  for (const { kind, ref, parse } of classReaders)
    for (const item of inventory.of(kind)) {
      const read = await inventory.problems.reading(async () => ({
        nodeClass: await usableClass(item, parse, kubernetes),
      }));
      if (read === undefined) classes.set(refKey({ kind: ref, name: item.name }), undefined);
      else if (read.nodeClass !== undefined)
        classes.set(refKey(read.nodeClass.ref), read.nodeClass);
    }
  return classes;
}

/** A class; undefined if the object has none. Throws InputError if it cannot be used. */
async function usableClass(
  item: Item,
  parse: ClassParser,
  kubernetes: KubernetesVersion,
): Promise<NodeClass | undefined> {
  const nodeClass = await valueOf(item, parse(item.object, kubernetes));
  const [problem] =
    nodeClass === undefined
      ? []
      : [...kubeletProblems(nodeClass.kubelet), ...imageProblems(nodeClass, kubernetes)];
  if (problem !== undefined) throw await errorAt(item, problem);
  return nodeClass;
}

const ourKinds = ['EC2NodeClass', 'AWSNodeTemplate', 'InlineProvider'];

const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'any' };
const isOurClass = (nodeSpec: Raw): boolean =>
  ourKinds.includes(String(recordOf(nodeSpec['nodeClassRef'])['kind']));

/**
 * With a catalog file, a pool may refer to any provider's class (for example KWOKNodeClass). The
 * file then lists the types that it boots.
 */
function withOurClass(pool: Raw): Raw {
  const spec = recordOf(pool['spec']);
  const template = recordOf(spec['template']);
  const node = recordOf(template['spec']);
  if (isOurClass(node)) return pool;
  return { ...pool, spec: { ...spec, template: { ...template, spec: { ...node, nodeClassRef } } } };
}

/** Does the same for a claim of such a pool. */
export function claimWithOurClass(claim: Raw): Raw {
  const spec = recordOf(claim['spec']);
  return isOurClass(spec) ? claim : { ...claim, spec: { ...spec, nodeClassRef } };
}

/** Pools with the types of their classes, and the missing classes that got a stand-in. */
export type Pools = {
  readonly pools: readonly PoolOptions[];
  readonly assumedClasses: readonly string[];
  /** Whether some class has no subnets of its own. */
  readonly assumedSubnets: boolean;
};

const leftOut = ({ identity, classRef }: Pool): InputError =>
  new InputError(
    `${identity.kind} ${identity.name} is left out, because its ${classRef.kind} ${classRef.name} cannot be used: correct the class`,
  );

/** Every pool counts as ready, because the simulation has manifests and no cluster. */
export async function poolsOf(inventory: Inventory, catalog: Catalog): Promise<Pools> {
  const classes = await classesOf(inventory);
  const readPool = (raw: unknown): ReturnType<typeof nodePoolOf> =>
    nodePoolOf(catalog.kind === 'file' ? withOurClass(raw as Raw) : raw);
  const read: readonly Pool[] = [
    ...(await all(inventory, 'NodePool', readPool)),
    ...(await all(inventory, 'Provisioner', provisionerOf)),
  ];
  const assumed = new Set<string>();
  let assumedSubnets = false;
  const pools = read.flatMap((pool): readonly PoolOptions[] => {
    const key = refKey(pool.classRef);
    const known = classes.get(key);
    if (known === undefined && classes.has(key)) {
      inventory.problems.add('left-out', leftOut(pool));
      return [];
    }
    if (known === undefined && catalog.kind === 'region') assumed.add(key);
    const nodeClass = known ?? standardClass(pool.classRef);
    assumedSubnets ||= nodeClass.status.subnets.length === 0;
    const instanceTypes = catalog.typesFor(nodeClass, pool.kubelet);
    return [{ pool: { ...pool, ready: true }, instanceTypes }];
  });
  return { pools, assumedClasses: [...assumed].sort(), assumedSubnets };
}
