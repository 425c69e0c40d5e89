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
import { kubeletProblems } from '@dovetail/core-ec2-model';
import { type Raw, recordOf } from '@dovetail/core-kube-model';
import type { PoolOptions } from '@dovetail/core-scheduling';

import { errorAt, valueOf } from '../manifests/objects.js';
import type { Catalog } from './catalog.js';
import type { Inventory, Item } from './kinds.js';

/** This Kubernetes version decides the family of a legacy class without one. */
const kubernetes: KubernetesVersion = { major: 1, minor: 34 };

const refKey = (ref: NodeClassRef): string => `${ref.kind}/${ref.name}`;

/** The class that stands in for a missing one: AL2023 with the standard disks. */
function standardClass(ref: NodeClassRef): NodeClass {
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

async function classesOf(inventory: Inventory): Promise<ReadonlyMap<string, NodeClass>> {
  const classes = new Map<string, NodeClass>();
  const add = async (item: Item, nodeClass: NodeClass | undefined): Promise<void> => {
    if (nodeClass === undefined) return;
    const [problem] = kubeletProblems(nodeClass.kubelet);
    if (problem !== undefined) throw await errorAt(item, problem);
    classes.set(refKey(nodeClass.ref), nodeClass);
  };
  for (const item of inventory.of('EC2NodeClass'))
    await add(item, await valueOf(item, ec2NodeClassOf(item.object)));
  for (const item of inventory.of('AWSNodeTemplate'))
    await add(item, await valueOf(item, awsNodeTemplateOf(item.object, kubernetes)));
  for (const item of inventory.of('Provisioner'))
    await add(item, await valueOf(item, inlineProviderOf(item.object, kubernetes)));
  return classes;
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
};

/** Every pool counts as ready, because the simulation has manifests and no cluster. */
export async function poolsOf(inventory: Inventory, catalog: Catalog): Promise<Pools> {
  const classes = await classesOf(inventory);
  const read: Pool[] = [];
  for (const item of inventory.of('NodePool')) {
    read.push(
      await valueOf(
        item,
        nodePoolOf(catalog.kind === 'file' ? withOurClass(item.object) : item.object),
      ),
    );
  }
  for (const item of inventory.of('Provisioner'))
    read.push(await valueOf(item, provisionerOf(item.object)));
  const assumed = new Set<string>();
  const pools = read.map((pool): PoolOptions => {
    const known = classes.get(refKey(pool.classRef));
    if (known === undefined && catalog.kind === 'region') assumed.add(refKey(pool.classRef));
    return {
      pool: { ...pool, ready: true },
      instanceTypes: catalog.typesFor(known ?? standardClass(pool.classRef), pool.kubelet),
    };
  });
  return { pools, assumedClasses: [...assumed].sort() };
}
