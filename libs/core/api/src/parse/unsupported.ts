import { lookUp } from '@dovetail/core-invariant';
import { Malformed, type Raw, readFlag, readRecord } from '@dovetail/core-kube-model';

/**
 * The settings that Dovetail can launch with. Ignoring another, also one of a later Karpenter,
 * would launch something else than was asked for.
 */
const supported: ReadonlySet<string> = new Set([
  'subnetSelectorTerms',
  'securityGroupSelectorTerms',
  'amiSelectorTerms',
  'amiFamily',
  'associatePublicIPAddress',
  'userData',
  'role',
  'instanceProfile',
  'tags',
  'kubelet',
  'blockDeviceMappings',
  'instanceStorePolicy',
  'detailedMonitoring',
  'metadataOptions',
  'enclaveOptions',
  'context',
]);

/** Refuses enclaves that are switched on. Switched off, they are as Karpenter leaves them. */
function refuseEnclaves(raw: unknown): void {
  if (readFlag(readRecord(raw, 'spec.enclaveOptions')['enabled'], 'spec.enclaveOptions.enabled'))
    throw new Malformed(
      'spec.enclaveOptions.enabled',
      true,
      'Dovetail cannot launch with Nitro Enclaves yet: write false, or remove it',
    );
}

/**
 * Refuses a spec of an EC2NodeClass with a setting that Dovetail cannot launch with. Throws
 * Malformed with the field's path.
 */
export function refuseUnsupported(spec: Raw): void {
  refuseEnclaves(spec['enclaveOptions']);
  const name = Object.keys(spec).find(
    (one) => !supported.has(one) && lookUp(spec, one) !== undefined && lookUp(spec, one) !== null,
  );
  if (name !== undefined)
    throw new Malformed(
      `spec.${name}`,
      lookUp(spec, name),
      'Dovetail cannot launch with this setting yet: remove it',
    );
}
