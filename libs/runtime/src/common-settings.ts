import { hostname } from 'node:os';

import { absoluteUrl } from './cluster-settings.js';
import { logLevels } from './log.js';
import {
  awsRegion,
  listenHost,
  namespaceName,
  natsServers,
  readableFile,
  replicaName,
} from './name-settings.js';
import { durationMs, oneOf, type Setting, type SettingsOf, text, wholeNumber } from './settings.js';

const setting = <T>(definition: Setting<T>): Setting<T> => definition;

/** The settings of every service. */
export const commonSettings = {
  clusterName: setting({
    env: 'CLUSTER_NAME',
    flag: 'cluster-name',
    help: 'Name of the cluster, as in EC2 tags and in message subjects.',
    parse: clusterNameOf,
  }),
  natsUrl: setting({
    env: 'NATS_URL',
    flag: 'nats-url',
    help: 'Address of NATS with JetStream, 2.11 or newer; several separated by commas.',
    fallback: 'nats://127.0.0.1:4222',
    parse: natsServers,
  }),
  natsCredentials: setting({
    env: 'NATS_CREDENTIALS',
    flag: 'nats-credentials',
    help: 'Path of a NATS credentials file: a .creds file, or the seed of an NKey. It is read again for each connection; none: no credentials.',
    fallback: '',
    parse: readableFile,
  }),
  natsCa: setting({
    env: 'NATS_CA',
    flag: 'nats-ca',
    help: "Path of the certificates (PEM) that sign NATS' own; none: the system's authorities.",
    fallback: '',
    parse: readableFile,
  }),
  natsCert: setting({
    env: 'NATS_CERT',
    flag: 'nats-cert',
    help: "Path of this client's certificate (PEM), for a NATS that asks for one; none: without.",
    fallback: '',
    parse: readableFile,
  }),
  natsKey: setting({
    env: 'NATS_KEY',
    flag: 'nats-key',
    help: 'Path of the key (PEM) of NATS_CERT.',
    fallback: '',
    parse: readableFile,
  }),
  natsReplicas: setting({
    env: 'NATS_REPLICAS',
    flag: 'nats-replicas',
    help: 'Copies of each stream, 1 to 5; 3 for a NATS cluster of three. A stream that has more keeps them.',
    fallback: 1,
    parse: wholeNumber({ least: 1, most: 5 }),
  }),
  httpPort: setting({
    env: 'HTTP_PORT',
    flag: 'http-port',
    help: 'Port for /healthz, /readyz and /metrics, and on the same host for /debug/state; 0: any free one.',
    fallback: 8080,
    parse: wholeNumber({ least: 0, most: 65_535 }),
  }),
  httpHost: setting({
    env: 'HTTP_HOST',
    flag: 'http-host',
    help: 'Address to listen on; ::: every address, IPv6 and IPv4.',
    fallback: '::',
    parse: listenHost,
  }),
  logLevel: setting({
    env: 'LOG_LEVEL',
    flag: 'log-level',
    help: 'debug, info, warn or error.',
    fallback: 'info' as const,
    parse: oneOf(...logLevels),
  }),
  logLevelFile: setting({
    env: 'LOG_LEVEL_FILE',
    flag: 'log-level-file',
    help: 'Path of a file with a level, such as a key of a mounted ConfigMap. It is read again every few seconds and wins over LOG_LEVEL while it is there; none: LOG_LEVEL counts.',
    fallback: '',
    parse: text,
  }),
  replicaName: setting({
    env: 'REPLICA_NAME',
    flag: 'replica-name',
    help: 'Name of this replica in leases, plans and logs.',
    fallback: hostname(),
    parse: replicaName,
  }),
  testClockFile: setting({
    env: 'TEST_CLOCK_FILE',
    flag: 'test-clock-file',
    help: 'For tests only: a file with milliseconds to add to the clock. Refused in a cluster.',
    fallback: '',
    parse: testClockFile,
  }),
} as const;

/** The further settings of services that talk to Kubernetes and lead. */
export const leaderSettings = {
  kubeconfig: setting({
    env: 'KUBECONFIG',
    flag: 'kubeconfig',
    help: "Path of a kubeconfig; none: the pod's own service account, or kubectl's default.",
    fallback: '',
    parse: readableFile,
  }),
  kubeQps: setting({
    env: 'KUBE_CLIENT_QPS',
    flag: 'kube-client-qps',
    help: 'Requests a second to the API server, at most, in the long run.',
    fallback: 200,
    parse: wholeNumber({ least: 1, most: 100_000 }),
  }),
  kubeBurst: setting({
    env: 'KUBE_CLIENT_BURST',
    flag: 'kube-client-burst',
    help: 'Requests to the API server that may go at once after a quiet time.',
    fallback: 300,
    parse: wholeNumber({ least: 1, most: 100_000 }),
  }),
  leaseNamespace: setting({
    env: 'LEASE_NAMESPACE',
    flag: 'lease-namespace',
    help: "Namespace of this service's Lease.",
    fallback: 'kube-system',
    parse: namespaceName,
  }),
  leaseDurationMs: setting({
    env: 'LEASE_DURATION',
    flag: 'lease-duration',
    help: 'How long a silent leader keeps its Lease; a successor takes over after it.',
    fallback: 15_000,
    parse: leaseDuration,
  }),
} as const;

/**
 * Rules by which solvers plan and the launcher checks. Invariant: both are given the same ones, as
 * the launcher refuses a plan that was made by laxer rules.
 */
export const planningSettings = {
  minValuesPolicy: setting({
    env: 'MIN_VALUES_POLICY',
    flag: 'min-values-policy',
    help: 'Strict: a new node must keep the minValues of its pool; BestEffort: they are relaxed where a pod would find no node. The same for solvers and launcher.',
    fallback: 'Strict' as const,
    parse: oneOf('Strict', 'BestEffort'),
  }),
  hostnameSpread: setting({
    env: 'HOSTNAME_SPREAD',
    flag: 'hostname-spread',
    help: 'balanced: a spread over hostnames counts every eligible node, as kube-scheduler; strict: the emptiest counts as 0, as Karpenter. The same for solvers and launcher.',
    fallback: 'balanced' as const,
    parse: oneOf('balanced', 'strict'),
  }),
} as const;

/**
 * How nodes with pods are given up. The reaper does it, and the launcher tells on pools that ask
 * for it when it is switched off: both are given the same.
 */
export const keepingSettings = {
  consolidation: setting({
    env: 'CONSOLIDATION',
    flag: 'consolidation',
    help: 'How pools that ask for it (WhenEmptyOrUnderutilized, Balanced) are consolidated. delete: under-used nodes whose pods all fit on other nodes are given up; replace: also nodes for whose pods one cheaper node can be bought; all: also several nodes together; search: a solver searches the whole cluster, and several nodes may be bought for several; none: only empty nodes are, whatever pools ask for. All but delete need the definition disruptions.dovetail.sh. The same for reaper and launcher.',
    fallback: 'all' as const,
    parse: oneOf('none', 'delete', 'replace', 'all', 'search'),
  }),
} as const;

/**
 * The further settings of services that talk to AWS. The AWS SDK finds the credentials in its usual
 * places.
 */
export const awsSettings = {
  region: setting({
    env: 'AWS_REGION',
    flag: 'aws-region',
    help: 'Region of the nodes.',
    parse: awsRegion,
  }),
  endpoint: setting({
    env: 'AWS_ENDPOINT_URL',
    flag: 'aws-endpoint-url',
    help: "One endpoint for every AWS service, for twins and private stand-ins; none: AWS' own.",
    fallback: '',
    parse: absoluteUrl,
  }),
  assumeRoleArn: setting({
    env: 'ASSUME_ROLE_ARN',
    flag: 'assume-role-arn',
    help: 'Role as which AWS is called, for example in the account of the nodes; none: the credentials that were found are used.',
    fallback: '',
    parse: roleArn,
  }),
  assumeRoleDurationMs: setting({
    env: 'ASSUME_ROLE_DURATION',
    flag: 'assume-role-duration',
    help: "How long credentials of that role last, 15m to 12h and at most the role's own limit.",
    fallback: 900_000,
    parse: sessionDuration,
  }),
} as const;

/** The region, endpoint and role of a connection to AWS, as the adapter takes them. */
export type AwsPlace = {
  readonly region: string;
  readonly endpoint?: string;
  readonly role?: { readonly arn: string; readonly durationSeconds: number };
};

/** The connection to AWS by these settings. */
export const awsPlaceOf = (given: SettingsOf<typeof awsSettings>): AwsPlace => ({
  region: given.region,
  ...(given.endpoint === '' ? {} : { endpoint: given.endpoint }),
  ...(given.assumeRoleArn === ''
    ? {}
    : {
        role: {
          arn: given.assumeRoleArn,
          durationSeconds: Math.ceil(given.assumeRoleDurationMs / 1_000),
        },
      }),
});

/** Subjects, tags and Lease names contain it. */
function clusterNameOf(given: string): string {
  if (/^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$/.test(given)) return given;
  throw new Error(
    'give up to 100 letters, digits, - and _, beginning with a letter or digit (the rule of EKS)',
  );
}

/** A clock that runs ahead would end every node as expired, so no pod may be given one. */
function testClockFile(given: string): string {
  if (process.env['KUBERNETES_SERVICE_HOST'] === undefined) return text(given);
  throw new Error('leave it out: this process runs in a cluster, where only the real time counts');
}

function leaseDuration(given: string): number {
  const value = durationMs(given);
  if (value < 1_000) throw new Error('give at least 1s');
  return value;
}

function roleArn(given: string): string {
  if (/^arn:[a-z-]+:iam::\d{12}:role\/[\w+=,.@/-]+$/.test(given)) return given;
  throw new Error('give the ARN of a role, such as arn:aws:iam::111122223333:role/dovetail');
}

/** STS gives sessions of 15 minutes to 12 hours. */
function sessionDuration(given: string): number {
  const value = durationMs(given);
  if (value < 900_000 || value > 43_200_000) throw new Error('give 15m to 12h');
  return value;
}
