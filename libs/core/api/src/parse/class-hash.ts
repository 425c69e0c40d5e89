import { contentHash } from '../content-hash.js';
import type { NodeClass } from '../node-class.js';

/** What a node keeps from its class once it is launched: a change of any of it is drift. Selectors are compared by what they find. */
export function classHash(nodeClass: Omit<NodeClass, 'hash'>): string {
  const { amiFamily, role, instanceProfile, userData, tags, kubelet, blockDeviceMappings, instanceStorePolicy, detailedMonitoring, metadataOptions, associatePublicIpAddress, context } = nodeClass;
  return contentHash({
    amiFamily, role, instanceProfile, userData, tags, kubelet, blockDeviceMappings, instanceStorePolicy, detailedMonitoring, metadataOptions,
    associatePublicIpAddress, context,
  });
}

/** The class with its hash. */
export const hashed = (nodeClass: Omit<NodeClass, 'hash'>): NodeClass => ({ ...nodeClass, hash: classHash(nodeClass) });
