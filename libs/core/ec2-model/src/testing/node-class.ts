import type { NodeClass, ResolvedAmi } from '@dovetail/core-api';

export const ami = (
  id: string,
  arch: ResolvedAmi['arch'] = 'amd64',
  variant: ResolvedAmi['variant'] = 'standard',
): ResolvedAmi => ({ id, name: id, deprecated: false, arch, variant });

/**
 * An AL2023 class of us-east-1 with subnets in zones a and b, ready, with images for both
 * architectures and for GPUs.
 */
export const nodeClassWith = (changes: Partial<NodeClass> = {}): NodeClass => ({
  ref: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
  uid: 'class-1',
  resourceVersion: '1',
  generation: 1,
  ready: true,
  hash: 'h',
  subnetSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'lab' } }],
  securityGroupSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'lab' } }],
  amiFamily: 'AL2023',
  amiSelectorTerms: [{ alias: 'al2023@latest' }],
  role: 'node',
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
