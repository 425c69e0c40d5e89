import { annotations, type NodeClaim } from '@dovetail/core-api';

const providerIdPattern = /^aws:\/\/\/[^/]+\/(i-[0-9a-f]+)$/;

/**
 * `aws:///us-west-2a/i-0123456789abcdef0` → `i-0123456789abcdef0`; undefined for any other form.
 */
export const instanceIdOfProvider = (providerId: string | undefined): string | undefined =>
  providerId === undefined ? undefined : providerIdPattern.exec(providerId)?.[1];

/** Whether the claim has no instance yet: neither a pairing nor a provider ID names one. */
export const isUnpaired = (claim: Pick<NodeClaim, 'annotations' | 'providerId'>): boolean =>
  claim.annotations[annotations.instanceId] === undefined && claim.providerId === undefined;

/**
 * The instance behind a claim: the launcher's pairing annotation, or the last part of the provider
 * ID that the status carries once launched. Undefined while the claim has no instance.
 */
export function instanceIdOf(
  claim: Pick<NodeClaim, 'annotations' | 'providerId'>,
): string | undefined {
  const id = claim.annotations[annotations.instanceId] ?? instanceIdOfProvider(claim.providerId);
  return id === undefined || id === '' ? undefined : id;
}
