import type { NodeClass, ResolvedAmi } from '@dovetail/core-api';
import { nodeClassValue } from '@dovetail/core-api/testing';

export const ami = (
  id: string,
  arch: ResolvedAmi['arch'] = 'amd64',
  variant: ResolvedAmi['variant'] = 'standard',
): ResolvedAmi => ({ id, name: id, deprecated: false, arch, variant });

/**
 * An AL2023 class of us-east-1 with subnets in zones a and b, ready, with images for both
 * architectures and for GPUs.
 */
export const nodeClassWith = (changes: Partial<NodeClass> = {}): NodeClass =>
  nodeClassValue('default', {
    uid: 'class-1',
    subnetSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'lab' } }],
    securityGroupSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'lab' } }],
    amiSelectorTerms: [{ alias: 'al2023@latest' }],
    role: 'node',
    status: {
      subnets: [
        { id: 'subnet-a', zone: 'us-east-1a', zoneId: 'use1-az2' },
        { id: 'subnet-b', zone: 'us-east-1b', zoneId: 'use1-az4' },
      ],
      securityGroups: [{ id: 'sg-2' }, { id: 'sg-1' }],
      amis: [ami('ami-amd'), ami('ami-arm', 'arm64'), ami('ami-gpu', 'amd64', 'nvidia')],
    },
    ...changes,
  });
