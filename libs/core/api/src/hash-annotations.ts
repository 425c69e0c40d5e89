import { hashVersion } from './content-hash.js';
import { nodeClassHashVersion, nodePoolHashVersion, withBundle } from './karpenter-hash.js';
import { annotations } from './names.js';
import type { NodeClass } from './node-class.js';
import type { Pool } from './pool.js';

type Annotations = Readonly<Record<string, string>>;

/**
 * The annotations by which drift from a pool is found, for the pool and its claims. Those of a
 * NodePool are Karpenter's. Karpenter's hash of a Provisioner is of another shape, so its hash has
 * a version of our own.
 */
export const poolHashAnnotations = ({ identity, hash }: Pick<Pool, 'identity' | 'hash'>) =>
  ({
    [annotations.nodePoolHash]: hash,
    [annotations.nodePoolHashVersion]:
      identity.kind === 'NodePool' ? nodePoolHashVersion : hashVersion,
  }) satisfies Annotations;

/** The same for a node class. Only those of an EC2NodeClass are Karpenter's. */
export const classHashAnnotations = ({ ref, hash }: Pick<NodeClass, 'ref' | 'hash'>) =>
  ({
    [annotations.nodeClassHash]: hash,
    [annotations.nodeClassHashVersion]:
      ref.kind === 'EC2NodeClass' ? nodeClassHashVersion : hashVersion,
  }) satisfies Annotations;

/**
 * The class with the hash that its nodes carry. The nodes of an EC2NodeClass get the authority of
 * the cluster in their user data, so that it counts. The bundle is in base64.
 */
export const hashedWithBundle = (nodeClass: NodeClass, caBundle: string): NodeClass =>
  nodeClass.ref.kind === 'EC2NodeClass'
    ? { ...nodeClass, hash: withBundle(nodeClass.hash, caBundle) }
    : nodeClass;
