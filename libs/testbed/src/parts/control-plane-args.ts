import type { ControlPlaneFiles } from './control-plane-files.js';

/** The loopback ports of a control plane. */
export type ControlPlanePorts = {
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly apiserver: number;
  readonly controllerManager: number;
  readonly scheduler: number;
};

/** The settings of the command lines besides files and ports. */
export type ControlPlaneSwitches = {
  readonly clusterName: string;
  readonly serviceAccountAdmission: boolean;
  readonly nodeLifecycle: boolean;
  readonly controllers: readonly string[];
};

type Setup = {
  readonly files: ControlPlaneFiles;
  readonly ports: ControlPlanePorts;
} & ControlPlaneSwitches;

/**
 * The controllers that make workloads behave as in a cluster. To save CPU, these are left out:
 * volumes, certificates, autoscaling, cron jobs, services and endpoints, and others that no test
 * needs.
 */
export const controllersDefault: readonly string[] = [
  'deployment-controller',
  'replicaset-controller',
  'statefulset-controller',
  'daemonset-controller',
  'job-controller',
  'disruption-controller',
  'garbage-collector-controller',
  'pod-garbage-collector-controller', // deletes pods whose node object is gone
  'taint-eviction-controller', // evicts from nodes tainted NoExecute
  'namespace-controller',
  'resourcequota-controller',
  'serviceaccount-controller',
  'serviceaccount-token-controller',
  'clusterrole-aggregation-controller',
];

/** They bind volumes as a cluster does, for tests that have some. */
export const volumeControllers: readonly string[] = [
  'persistentvolume-binder-controller',
  'ephemeral-volume-controller',
];

const loopback = '127.0.0.1';
const issuer = 'https://kubernetes.default.svc';

/** The arguments of etcd. */
export function etcdArgs({ files, ports }: Setup): readonly string[] {
  const client = `http://${loopback}:${ports.etcd}`;
  const peer = `http://${loopback}:${ports.etcdPeer}`;
  return [
    '--name=testbed',
    `--data-dir=${files.etcdData}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=testbed=${peer}`,
    '--unsafe-no-fsync', // survives the death of the process, not that of the machine: enough here, and far quicker
    '--quota-backend-bytes=4294967296',
    '--log-level=warn',
    '--logger=zap',
  ];
}

/** The arguments of kube-apiserver. */
export function apiserverArgs(setup: Setup): readonly string[] {
  const { files, ports } = setup;
  const admissionOff = [
    // With it, pods wait for their namespace's service account and get a token volume.
    ...(setup.serviceAccountAdmission ? [] : ['ServiceAccount']),
    // It taints each new node not-ready, and only the node-lifecycle controller removes that taint.
    ...(setup.nodeLifecycle ? [] : ['TaintNodesByCondition']),
  ];
  return [
    `--etcd-servers=http://${loopback}:${ports.etcd}`,
    `--cert-dir=${files.certificates}`,
    `--bind-address=${loopback}`,
    `--advertise-address=${loopback}`, // by default the address of the default route, which need not exist
    '--endpoint-reconciler-type=none', // it would refuse to publish a loopback address, again and again
    `--secure-port=${ports.apiserver}`,
    `--service-account-key-file=${files.serviceAccountKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    `--service-account-issuer=${issuer}`,
    `--token-auth-file=${files.tokens}`,
    '--authorization-mode=Node,RBAC',
    '--service-cluster-ip-range=10.0.0.0/24',
    '--allow-privileged',
    '--profiling=false',
    ...(admissionOff.length === 0 ? [] : [`--disable-admission-plugins=${admissionOff.join(',')}`]),
  ];
}

/** The arguments of kube-controller-manager. */
export function controllerManagerArgs(setup: Setup): readonly string[] {
  const { files, ports } = setup;
  const controllers = [
    ...setup.controllers,
    ...(setup.nodeLifecycle ? ['node-lifecycle-controller'] : []),
  ];
  return [
    ...componentArgs(files, ports.controllerManager),
    `--controllers=${controllers.join(',')}`,
    `--cluster-name=${setup.clusterName}`,
    `--service-account-private-key-file=${files.serviceAccountKey}`,
    `--root-ca-file=${files.ca}`,
  ];
}

/**
 * Profiles and plug-ins are the scheduler's own defaults, because it is the reference for the
 * planner.
 */
export const schedulerArgs = ({ files, ports }: Setup): readonly string[] =>
  componentArgs(files, ports.scheduler);

const componentArgs = (files: ControlPlaneFiles, port: number): readonly string[] => [
  `--kubeconfig=${files.kubeconfig}`,
  `--authentication-kubeconfig=${files.kubeconfig}`,
  `--authorization-kubeconfig=${files.kubeconfig}`,
  `--bind-address=${loopback}`,
  `--secure-port=${port}`,
  `--cert-dir=${files.certificates}`,
  '--leader-elect=false',
  '--profiling=false',
  // With the defaults of 20 and 50 requests a second, a deployment of 1,000 takes 50 seconds to
  // appear.
  '--kube-api-qps=1000',
  '--kube-api-burst=2000',
];
