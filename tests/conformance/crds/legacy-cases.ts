import { type CrdCase, provisioner, template } from './crd-objects.js';

/** Provisioners and AWSNodeTemplates, good and bad. */
export const legacyCases: readonly CrdCase[] = [
  { name: 'the least Provisioner', object: provisioner() },
  {
    name: 'a full Provisioner',
    object: provisioner({
      requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] }],
      labels: { intent: 'apps' },
      taints: [{ key: 'team1', effect: 'NoSchedule' }],
      limits: { resources: { cpu: 1000 } },
      ttlSecondsAfterEmpty: 30,
      ttlSecondsUntilExpired: 1800,
      weight: 5,
      kubeletConfiguration: { maxPods: 20 },
    }),
  },
  {
    name: 'a Provisioner with each of the 13 kubelet settings',
    object: provisioner({
      kubeletConfiguration: {
        clusterDNS: ['10.0.1.100'],
        containerRuntime: 'containerd',
        maxPods: 20,
        podsPerCore: 2,
        systemReserved: { cpu: '100m' },
        kubeReserved: { cpu: '200m' },
        evictionHard: { 'memory.available': '5%' },
        evictionSoft: { 'memory.available': '500Mi' },
        evictionSoftGracePeriod: { 'memory.available': '1m' },
        evictionMaxPodGracePeriod: 60,
        imageGCHighThresholdPercent: 85,
        imageGCLowThresholdPercent: 80,
        cpuCFSQuota: true,
      },
    }),
  },
  {
    name: 'a container runtime that is no text',
    object: provisioner({ kubeletConfiguration: { containerRuntime: 7 } }),
    refused: /containerRuntime/,
  },
  {
    name: 'an inline provider',
    object: provisioner({
      providerRef: undefined,
      provider: {
        subnetSelector: { a: '*' },
        securityGroupSelector: { a: '*' },
        anything: { else: 1 },
      },
    }),
  },
  {
    name: 'both provider and template',
    object: provisioner({ provider: {} }),
    refused: /exactly one of provider/,
  },
  {
    name: 'neither provider nor template',
    object: provisioner({ providerRef: undefined }),
    refused: /exactly one of provider/,
  },
  {
    name: 'emptiness beside consolidation',
    object: provisioner({ ttlSecondsAfterEmpty: 30, consolidation: { enabled: true } }),
    refused: /exclude each other/,
  },
  {
    name: 'emptiness beside consolidation switched off',
    object: provisioner({ ttlSecondsAfterEmpty: 30, consolidation: { enabled: false } }),
  },
  {
    name: 'a time as text',
    object: provisioner({ ttlSecondsAfterEmpty: '30' }),
    refused: /ttlSecondsAfterEmpty/,
  },
  {
    name: 'a negative time',
    object: provisioner({ ttlSecondsUntilExpired: -1 }),
    refused: /ttlSecondsUntilExpired/,
  },
  {
    name: 'its own label',
    object: provisioner({ labels: { 'karpenter.sh/provisioner-name': 'x' } }),
    refused: /provisioner-name/,
  },
  { name: 'the least template', object: template() },
  {
    name: 'a template with everything',
    object: template({
      amiFamily: 'Bottlerocket',
      userData: '[a]',
      instanceProfile: 'p',
      amiSelector: { 'aws::name': 'x' },
      tags: { a: 'b' },
      metadataOptions: { httpTokens: 'optional' },
      detailedMonitoring: true,
      blockDeviceMappings: [{ ebs: { volumeSize: '20Gi' } }],
    }),
  },
  { name: 'an unknown family', object: template({ amiFamily: 'Debian' }), refused: /amiFamily/ },
  {
    name: 'an empty selector value',
    object: template({ subnetSelector: { a: '' } }),
    refused: /empty selector/,
  },
  {
    name: "a launch template of one's own",
    object: template({ launchTemplate: 'mine', securityGroupSelector: undefined }),
  },
  {
    name: 'a launch template by its other field',
    object: template({ launchTemplateName: 'mine', securityGroupSelector: undefined }),
  },
  {
    name: 'a launch template beside what it has itself',
    object: template({ launchTemplate: 'mine' }),
    refused: /securityGroupSelector/,
  },
  {
    name: "a launch template that is named like Dovetail's own",
    object: template({ launchTemplate: 'dovetail/1', securityGroupSelector: undefined }),
    refused: /Dovetail's own/,
  },
];
