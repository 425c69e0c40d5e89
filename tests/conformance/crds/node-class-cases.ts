import { amis, type CrdCase, devices, nodeClass, tags } from './crd-objects.js';

const primary = { networkCardIndex: 0, deviceIndex: 0, interfaceType: 'interface' };

/** EC2NodeClasses, good and bad. */
export const nodeClassCases: readonly CrdCase[] = [
  { name: 'the least class', object: nodeClass() },
  {
    name: 'a full class',
    object: nodeClass({
      role: undefined,
      instanceProfile: 'p',
      amiFamily: 'AL2023',
      subnetSelectorTerms: [{ id: 'subnet-1' }, ...tags],
      securityGroupSelectorTerms: [{ name: 'nodes' }, ...tags],
      tags: { team: 'a' },
      userData: '#!/bin/sh',
      associatePublicIPAddress: false,
      kubelet: {
        maxPods: 20,
        kubeReserved: { cpu: '100m' },
        evictionHard: { 'memory.available': '5%' },
        evictionSoft: { 'nodefs.available': '10Gi' },
        evictionSoftGracePeriod: { 'nodefs.available': '1m' },
        imageGCHighThresholdPercent: 80,
        imageGCLowThresholdPercent: 60,
        containerLogMaxSize: '50Mi',
      },
      enclaveOptions: { enabled: false },
      blockDeviceMappings: [
        {
          deviceName: '/dev/xvda',
          rootVolume: true,
          ebs: { volumeSize: '100Gi', volumeType: 'gp3', iops: 3000, encrypted: true },
        },
      ],
      instanceStorePolicy: 'RAID0',
      detailedMonitoring: true,
      metadataOptions: { httpTokens: 'optional' },
      context: 'c',
    }),
  },
  {
    name: 'role and profile',
    object: nodeClass({ instanceProfile: 'p' }),
    refused: /exactly one of/,
  },
  {
    name: 'neither role nor profile',
    object: nodeClass({ role: undefined }),
    refused: /exactly one of/,
  },
  { name: 'an empty role', object: nodeClass({ role: '' }), refused: /role cannot be empty/ },
  {
    name: 'no subnets',
    object: nodeClass({ subnetSelectorTerms: [] }),
    refused: /cannot be empty/,
  },
  {
    name: 'a subnet term of nothing',
    object: nodeClass({ subnetSelectorTerms: [{}] }),
    refused: /expected at least one/,
  },
  {
    name: 'a subnet id that is none',
    object: nodeClass({ subnetSelectorTerms: [{ id: 'vpc-1' }] }),
    refused: /subnetSelectorTerms/,
  },
  {
    name: 'only terms of id and tags',
    object: nodeClass({ subnetSelectorTerms: [{ id: 'subnet-1', tags: { a: 'b' } }] }),
    refused: /mutually exclusive/,
  },
  {
    name: 'one mixed term of several',
    object: nodeClass({
      subnetSelectorTerms: [{ id: 'subnet-1', tags: { a: 'b' } }, { id: 'subnet-2' }],
    }),
  },
  {
    name: 'an empty tag value',
    object: nodeClass({ subnetSelectorTerms: [{ tags: { a: '' } }] }),
    refused: /empty tag/,
  },
  {
    name: 'a group by name and tags',
    object: nodeClass({ securityGroupSelectorTerms: [{ name: 'n', tags: { a: 'b' } }] }),
    refused: /mutually exclusive/,
  },
  {
    name: 'images by name and owner',
    object: amis({ name: 'x', owner: 'self' }, { ssmParameter: '/p' }),
  },
  { name: 'an owner alone', object: amis({ owner: 'self' }), refused: /expected at least one/ },
  {
    name: 'an image by id and name',
    object: amis({ id: 'ami-1', name: 'x' }, { id: 'ami-2' }),
    refused: /'id' is mutually exclusive/,
  },
  {
    name: 'an alias and another term',
    object: amis({ alias: 'al2023@latest' }, { id: 'ami-1' }),
    refused: /'alias' is mutually exclusive/,
  },
  {
    name: 'an alias and a name',
    object: amis({ alias: 'al2023@latest', name: 'x' }),
    refused: /'alias' is mutually exclusive/,
  },
  {
    name: 'an alias without a version',
    object: amis({ alias: 'al2023' }),
    refused: /improperly formatted/,
  },
  {
    name: 'an unknown alias',
    object: amis({ alias: 'ubuntu@latest' }),
    refused: /family is not supported/,
  },
  {
    name: 'a version of Windows',
    object: nodeClass({ amiSelectorTerms: [{ alias: 'windows2022@1' }] }),
    refused: /windows families/,
  },
  {
    name: "another family than the alias's",
    object: nodeClass({ amiFamily: 'Bottlerocket' }),
    refused: /amiFamily must match/,
  },
  { name: 'Custom with an alias', object: nodeClass({ amiFamily: 'Custom' }) },
  {
    name: 'neither family nor alias',
    object: nodeClass({ amiSelectorTerms: [{ id: 'ami-1' }] }),
    refused: /must specify amiFamily/,
  },
  {
    name: 'our own tag',
    object: nodeClass({ tags: { 'karpenter.sh/nodepool': 'x' } }),
    refused: /restricted tag/,
  },
  {
    name: "the cluster's tag",
    object: nodeClass({ tags: { 'kubernetes.io/cluster/c': 'owned' } }),
    refused: /restricted tag/,
  },
  {
    name: 'a device of no size',
    object: devices({ ebs: { encrypted: true } }),
    refused: /snapshotID or volumeSize/,
  },
  {
    name: 'a size in bytes',
    object: devices({ ebs: { volumeSize: '1024' } }),
    refused: /volumeSize/,
  },
  {
    name: 'a size of 59001Gi',
    object: devices({ ebs: { volumeSize: '59001Gi' } }),
    refused: /volumeSize/,
  },
  {
    name: 'sizes in every unit',
    object: devices(
      { ebs: { volumeSize: '59000Gi' } },
      { ebs: { volumeSize: '64000G' } },
      { ebs: { volumeSize: '58Ti' } },
      { ebs: { volumeSize: '64T' } },
    ),
  },
  {
    name: 'an initialisation rate without a snapshot',
    object: devices({ ebs: { volumeSize: '1Gi', volumeInitializationRate: 100 } }),
    refused: /volumeInitializationRate/,
  },
  {
    name: 'two root volumes',
    object: devices({ rootVolume: true }, { rootVolume: true }),
    refused: /rootVolume/,
  },
  {
    name: 'a hop limit of 65',
    object: nodeClass({ metadataOptions: { httpPutResponseHopLimit: 65 } }),
    refused: /httpPutResponseHopLimit/,
  },
  {
    name: 'a reservation of no kind',
    object: nodeClass({ kubelet: { systemReserved: { gpu: '1' } } }),
    refused: /valid keys for systemReserved/,
  },
  {
    name: 'a negative reservation',
    object: nodeClass({ kubelet: { kubeReserved: { cpu: '-1' } } }),
    refused: /negative/,
  },
  {
    name: 'a signal of no kind',
    object: nodeClass({ kubelet: { evictionHard: { 'disk.free': '5%' } } }),
    refused: /valid keys for evictionHard/,
  },
  {
    name: 'soft eviction without grace',
    object: nodeClass({ kubelet: { evictionSoft: { 'memory.available': '5%' } } }),
    refused: /matching evictionSoftGracePeriod/,
  },
  {
    name: 'grace without soft eviction',
    object: nodeClass({ kubelet: { evictionSoftGracePeriod: { 'memory.available': '1m' } } }),
    refused: /matching evictionSoft/,
  },
  {
    name: 'thresholds the wrong way round',
    object: nodeClass({
      kubelet: { imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 60 },
    }),
    refused: /must be greater/,
  },
  {
    name: 'interfaces without a primary one',
    object: nodeClass({
      networkInterfaces: [{ networkCardIndex: 1, deviceIndex: 0, interfaceType: 'interface' }],
    }),
    refused: /primary interface/,
  },
  {
    name: 'interfaces of several cards',
    object: nodeClass({
      networkInterfaces: [
        primary,
        { ...primary, deviceIndex: 1, interfaceType: 'efa-only' },
        { networkCardIndex: 1, deviceIndex: 1, interfaceType: 'efa-only' },
      ],
    }),
  },
  {
    name: 'an interface twice',
    object: nodeClass({ networkInterfaces: [primary, { ...primary, interfaceType: 'efa-only' }] }),
    refused: /the same networkCardIndex and deviceIndex twice/,
  },
  {
    name: 'two efa-only interfaces on one card',
    object: nodeClass({
      networkInterfaces: [
        primary,
        { ...primary, deviceIndex: 1, interfaceType: 'efa-only' },
        { ...primary, deviceIndex: 2, interfaceType: 'efa-only' },
      ],
    }),
    refused: /only one efa-only interface/,
  },
  {
    name: 'a placement group by two names',
    object: nodeClass({ placementGroupSelector: { name: 'a', id: 'pg-1' } }),
    refused: /exactly one of/,
  },
  {
    name: 'a reservation term of nothing',
    object: nodeClass({ capacityReservationSelectorTerms: [{ ownerID: '123456789012' }] }),
    refused: /expected at least one/,
  },
];
