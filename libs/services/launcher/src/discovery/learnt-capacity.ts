import { annotations, labels, type NodeClaim, type NodeClass, poolKey } from '@dovetail/core-api';
import { classKey, type Cluster, type TypesByName } from '@dovetail/core-cluster';
import {
  amiOfType,
  believedDifference,
  type CapacityDifference,
  capacityDifference,
  type InstanceType,
  withDifference,
} from '@dovetail/core-ec2-model';
import { compareText, type Node } from '@dovetail/core-kube-model';
import { isTrue } from '@dovetail/service-kit';

/** The difference of a type and image from the plan, and the last node that changed it. */
export type Learnt = {
  readonly instanceType: string;
  readonly imageId: string;
  readonly difference: CapacityDifference;
  readonly nodeName: string;
};

/** The differences of the last nodes of a type and image, by UID of the node, oldest first. */
type Reports = { learnt: Learnt; readonly byNode: Map<string, CapacityDifference> };

/**
 * How many nodes of a type and image are remembered, also after their end. More would count nodes
 * that a newer host or kubelet has long replaced.
 */
const reportsMax = 100;

/** The findings of one class, as long as its content stays. */
type OfClass = {
  readonly hash: string;
  readonly found: Map<string, Reports>;
  /** The nodes that were compared, each with the type that it was compared with. */
  compared: WeakMap<Node, InstanceType>;
};

const foundKey = (instanceType: string, imageId: string): string => `${instanceType} ${imageId}`;

/**
 * Learns from initialized nodes how much a type really holds with an image. No API tells how much
 * memory hypervisor and firmware keep, and user data may reserve more. Of several nodes the least
 * counts, as in Karpenter, but for a single one that is far below the others. The nodes that live
 * are all that it needs: a successor learns the same from them.
 */
export class LearntCapacity {
  readonly #cluster: Cluster;
  readonly #limits: { readonly vmMemoryOverheadPercent: number };
  readonly #byClass = new Map<string, OfClass>();

  constructor(cluster: Cluster, limits: { readonly vmMemoryOverheadPercent: number }) {
    this.#cluster = cluster;
    this.#limits = limits;
  }

  /**
   * Compares the nodes of a class with its types as planned, before anything learnt. Answers what
   * is new.
   */
  look(nodeClass: NodeClass, planned: TypesByName): readonly Learnt[] {
    const key = classKey(nodeClass.ref);
    const held = this.#byClass.get(key);
    // Another content may reserve other amounts, so nodes of the former one say nothing of it.
    const ofClass: OfClass =
      held?.hash === nodeClass.hash
        ? held
        : { hash: nodeClass.hash, found: new Map(), compared: new WeakMap() };
    this.#byClass.set(key, ofClass);
    const images = imagesOf(nodeClass);
    forgetOthers(ofClass, images);
    return this.#cluster.claims.by('class', key).flatMap((claim) => {
      return this.#fromNodeOf(claim, { nodeClass, planned, images, ofClass }) ?? [];
    });
  }

  /** The differences that count for the class' images now, by type. */
  of(nodeClass: NodeClass): readonly Learnt[] {
    const held = this.#byClass.get(classKey(nodeClass.ref));
    if (held?.hash !== nodeClass.hash) return [];
    const images = imagesOf(nodeClass);
    return [...held.found.values()]
      .map(({ learnt }) => learnt)
      .filter(({ imageId, difference }) => images.has(imageId) && textOf(difference) !== nothing)
      .sort(
        (a, b) => compareText(a.instanceType, b.instanceType) || compareText(a.imageId, b.imageId),
      );
  }

  /** The types as their nodes turned out to be. */
  applied(types: TypesByName, nodeClass: NodeClass): TypesByName {
    const learnt = this.of(nodeClass);
    if (learnt.length === 0) return types;
    const changed = new Map<string, InstanceType>(types);
    for (const { instanceType, imageId, difference } of learnt) {
      const type = types.get(instanceType);
      if (type !== undefined && amiOfType(nodeClass.status.amis, type)?.id === imageId)
        changed.set(instanceType, withDifference(type, difference));
    }
    return changed;
  }

  /** Forgets a class that is gone. */
  forget(key: string): void {
    this.#byClass.delete(key);
  }

  #fromNodeOf(claim: NodeClaim, look: Look): Learnt | undefined {
    const { nodeClass, planned, images, ofClass } = look;
    const { imageId } = claim;
    const node = this.#cluster.nodeOfClaim(claim);
    if (node === undefined || imageId === undefined || !images.has(imageId)) return undefined;
    if (!isTrue(claim.conditions, 'Initialized')) return undefined;
    if (claim.annotations[annotations.nodeClassHash] !== nodeClass.hash) return undefined;
    // A pool with kubelet settings of its own has other reservations than its class.
    if (this.#cluster.pools.one('key', poolKey(claim.pool))?.kubelet !== undefined)
      return undefined;
    const type = planned.get(node.labels[labels.instanceType] ?? '');
    // Nodes come one by one, and those that are there have been compared.
    if (type === undefined || ofClass.compared.get(node) === type) return undefined;
    ofClass.compared.set(node, type);
    return this.#compare(ofClass, { type, imageId, node });
  }

  /** Takes the report of a node in; answers the difference that counts since, if it is new. */
  #compare(
    { found }: OfClass,
    of: { readonly type: InstanceType; readonly imageId: string; readonly node: Node },
  ): Learnt | undefined {
    const { type, imageId, node } = of;
    const { name: instanceType } = type;
    const nodeName = node.name;
    const key = foundKey(instanceType, imageId);
    const held = found.get(key) ?? {
      learnt: { instanceType, imageId, difference: asPlanned, nodeName },
      byNode: new Map<string, CapacityDifference>(),
    };
    found.set(key, held);
    const { byNode } = held;
    byNode.delete(node.uid);
    byNode.set(node.uid, capacityDifference(type, node, this.#limits) ?? asPlanned);
    for (const oldest of byNode.keys()) if (byNode.size > reportsMax) byNode.delete(oldest);
    const difference = believedDifference(type, [...byNode.values()]);
    if (textOf(held.learnt.difference) === textOf(difference)) return undefined;
    held.learnt = { ...held.learnt, difference, nodeName };
    return held.learnt;
  }
}

/** The parts that one look at a class compares its nodes with. */
type Look = {
  readonly nodeClass: NodeClass;
  readonly planned: TypesByName;
  readonly images: ReadonlySet<string>;
  readonly ofClass: OfClass;
};

/** Forgets the findings of images that the class has no more; their nodes are compared again. */
function forgetOthers(ofClass: OfClass, images: ReadonlySet<string>): void {
  for (const [each, { learnt }] of ofClass.found) {
    if (images.has(learnt.imageId)) continue;
    ofClass.found.delete(each);
    ofClass.compared = new WeakMap();
  }
}

const imagesOf = ({ status }: NodeClass): ReadonlySet<string> =>
  new Set(status.amis.map(({ id }) => id));

const textOf = ({ capacity, allocatable }: CapacityDifference): string =>
  JSON.stringify([sorted(capacity), sorted(allocatable)]);
const sorted = (resources: Readonly<Record<string, number>>): readonly (readonly unknown[])[] =>
  Object.entries(resources).sort(([a], [b]) => compareText(a, b));
const asPlanned: CapacityDifference = { capacity: {}, allocatable: {} };
const nothing = textOf(asPlanned);
