import { recordOf } from '@dovetail/core-kube-model';

import { goJson } from './go-json.js';
import { classShape, templateShape } from './karpenter-shapes.js';
import type { AmiFamily } from './node-class.js';
import { setHash, textHash } from './structure-hash.js';

/** The version of a NodePool's hash in Karpenter 1.14 and 1.15. */
export const nodePoolHashVersion = 'v3';
/** The version of an EC2NodeClass' hash in Karpenter 1.15. */
export const nodeClassHashVersion = 'v6';

/**
 * Hashes `spec.template` of a NodePool, as the API server has it, to Karpenter's own number.
 * Requirements do not count. A duration counts in whole milliseconds, and the time that a taint
 * was added does not count.
 */
export const karpenterPoolHash = (template: unknown): string => templateShape(template).toString();

/**
 * Hashes `spec` of an EC2NodeClass, as the API server has it, to Karpenter's own number. The bundle
 * is the authority of the cluster that nodes get in their user data, in base64.
 */
export const karpenterClassHash = (
  spec: unknown,
  family: AmiFamily,
  caBundle: string | undefined,
): string =>
  setHash([
    classShape(spec),
    textHash(family),
    textHash(caBundle ?? ''),
    textHash(kubeletText(spec)),
  ]).toString();

/**
 * The kubelet settings as Karpenter writes them for the hash: `null` if there are none. A setting
 * of null counts as absent here, and is a part of Karpenter's text.
 */
function kubeletText(spec: unknown): string {
  const kubelet = Object.entries(recordOf(recordOf(spec)['kubelet']));
  const held = kubelet.filter(([, value]) => value !== null && value !== undefined);
  return held.length === 0 ? 'null' : goJson(Object.fromEntries(held));
}

/** Adds the bundle to a hash that `karpenterClassHash` has made without one. */
export const withBundle = (hash: string, caBundle: string): string =>
  setHash([BigInt(hash), textHash(''), textHash(caBundle)]).toString();
