import { contentHash } from '../content-hash.js';
import type { NodeClass } from '../node-class.js';

/**
 * Hashes the parts of a legacy class that a launched node keeps. A change of any is drift. Drift of
 * selectors shows in what they find.
 */
export function classHash(nodeClass: Omit<NodeClass, 'hash'>): string {
  const {
    amiFamily,
    role,
    instanceProfile,
    launchTemplateName,
    userData,
    tags,
    kubelet,
    blockDeviceMappings,
    instanceStorePolicy,
    detailedMonitoring,
    metadataOptions,
    associatePublicIpAddress,
    context,
  } = nodeClass;
  return contentHash({
    amiFamily,
    role,
    instanceProfile,
    launchTemplateName,
    userData,
    tags,
    kubelet,
    blockDeviceMappings,
    instanceStorePolicy,
    detailedMonitoring,
    metadataOptions,
    associatePublicIpAddress,
    context,
  });
}

/** Adds the hash of its content to a legacy class. */
export const hashed = (nodeClass: Omit<NodeClass, 'hash'>): NodeClass => ({
  ...nodeClass,
  hash: classHash(nodeClass),
});
