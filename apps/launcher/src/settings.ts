import {
  absoluteUrl,
  awsSettings,
  caBundle,
  cidrBlock,
  commonSettings,
  instanceProfileName,
  keepingSettings,
  leaderSettings,
  oneOf,
  planningSettings,
  type SettingsOf,
  shareBelowOne,
  traceSettings,
  wholeNumber,
  yesOrNo,
} from '@dovetail/runtime';
import { defaultLauncherConfig, type LauncherConfig } from '@dovetail/service-launcher';

/** How nodes reach the cluster. Karpenter's names, where it has them. */
const clusterSettings = {
  clusterEndpoint: {
    env: 'CLUSTER_ENDPOINT',
    flag: 'cluster-endpoint',
    help: "The API server's URL, as nodes reach it; none: EKS is asked.",
    fallback: '',
    parse: absoluteUrl,
  },
  clusterCa: {
    env: 'CLUSTER_CA_BUNDLE',
    flag: 'cluster-ca-bundle',
    help: 'CA certificates by which nodes trust the API server, as PEM or as base64 of it; none: EKS is asked, or else those by which the launcher trusts it.',
    fallback: '',
    parse: caBundle,
  },
  clusterServiceCidr: {
    env: 'CLUSTER_SERVICE_CIDR',
    flag: 'cluster-service-cidr',
    help: 'Addresses of Services, which nodes of AL2023 must know; none: EKS is asked. With this and the endpoint EKS is not asked.',
    fallback: '',
    parse: cidrBlock,
  },
} as const;

/** The room of nodes, in Karpenter's names. */
const capacitySettings = {
  vmMemoryOverheadPercent: {
    env: 'VM_MEMORY_OVERHEAD_PERCENT',
    flag: 'vm-memory-overhead-percent',
    help: 'Share of memory that a node is planned without, as the hypervisor keeps it: from 0 to less than 1.',
    fallback: 0.075,
    parse: shareBelowOne,
  },
  reservedEnis: {
    env: 'RESERVED_ENIS',
    flag: 'reserved-enis',
    help: "Network interfaces of a node that pods cannot use, as with the VPC CNI's custom networking; nodes take fewer pods.",
    fallback: 0,
    parse: wholeNumber({ least: 0, most: 100 }),
  },
} as const;

/** The launcher's settings, by the names under which `launcherConfigOf` reads them. */
export const launcherSettings = {
  ...commonSettings,
  ...leaderSettings,
  ...awsSettings,
  ...traceSettings,
  ...clusterSettings,
  isolatedVpc: {
    env: 'ISOLATED_VPC',
    flag: 'isolated-vpc',
    help: 'true: services of AWS without a VPC endpoint are out of reach. Bundled prices stand in, and instance profiles that classes name are not looked up.',
    fallback: false,
    parse: yesOrNo,
  },
  ...capacitySettings,
  ...planningSettings,
  ...keepingSettings,
  placement: {
    env: 'PLACEMENT',
    flag: 'placement',
    help: 'bind: the launcher binds pods to the node planned for them; scheduler: kube-scheduler chooses, and the launcher needs no right to bind.',
    fallback: 'bind' as const,
    parse: oneOf('bind', 'scheduler'),
  },
  bindingQps: {
    env: 'KUBE_BINDING_QPS',
    flag: 'kube-binding-qps',
    help: 'Bindings of pods a second, at most, beside the other requests. The launcher waits when the API server says that it has too much to do.',
    fallback: 2_000,
    parse: wholeNumber({ least: 1, most: 100_000 }),
  },
  defaultInstanceProfile: {
    env: 'DEFAULT_INSTANCE_PROFILE',
    flag: 'default-instance-profile',
    help: 'Instance profile for classes that name neither role nor profile (legacy AWSNodeTemplates and inline providers).',
    fallback: '',
    parse: instanceProfileName,
  },
} as const;

/** The launcher's config by these settings, and by the CA that the launcher itself trusts. */
export function launcherConfigOf(
  given: SettingsOf<typeof launcherSettings>,
  ownCa: string | undefined,
): LauncherConfig {
  const { clusterEndpoint, clusterCa, clusterServiceCidr, defaultInstanceProfile } = given;
  const { clusterName, region, vmMemoryOverheadPercent, reservedEnis } = given;
  const defaults = { clusterName, region, ...defaultLauncherConfig };
  return {
    ...defaults,
    ...(clusterEndpoint === '' ? {} : { clusterEndpoint }),
    ...(clusterCa === '' ? {} : { clusterCa }),
    ...(ownCa === undefined ? {} : { ownCa }),
    ...(clusterServiceCidr === '' ? {} : { clusterServiceCidr }),
    ...(defaultInstanceProfile === '' ? {} : { defaultInstanceProfile }),
    isolatedVpc: given.isolatedVpc,
    placement: given.placement,
    consolidates: given.consolidation !== 'none',
    minValuesPolicy: given.minValuesPolicy,
    hostnameSpread: given.hostnameSpread,
    discovery: { ...defaults.discovery, vmMemoryOverheadPercent, reservedEnis },
  };
}
