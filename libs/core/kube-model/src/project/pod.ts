import type { DaemonSet, HostPort, Owner, Pod, PodVolume, Toleration } from '../pod.js';
import type { Meta } from './meta.js';
import { readMeta, readObject } from './meta.js';
import { readAffinities, readTopologySpread } from './placement.js';
import { podRequests } from './pod-requests.js';
import type { Parsed, Raw } from './raw.js';
import {
  Malformed,
  optional,
  parsed,
  readEach,
  readFlag,
  readInteger,
  readOneOf,
  readRecord,
  readRequiredText,
  readText,
  readTextMap,
  readTimeMs,
} from './raw.js';
import { readTolerations } from './terms.js';

/** Kubernetes' type of a priority. */
const int32 = { min: -2_147_483_648, max: 2_147_483_647 };

const readAnnotations = new Set([
  'karpenter.sh/do-not-disrupt',
  'karpenter.sh/disruption-cost',
  'controller.kubernetes.io/pod-deletion-cost',
]);

/**
 * Keeps the annotations that Dovetail reads. karpenter.sh/do-not-evict is the older name of
 * do-not-disrupt.
 */
function keptAnnotations(
  annotations: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const kept = Object.fromEntries(
    Object.entries(annotations).filter(([key]) => readAnnotations.has(key)),
  );
  const legacy = annotations['karpenter.sh/do-not-evict'];
  return legacy === undefined || kept['karpenter.sh/do-not-disrupt'] !== undefined
    ? kept
    : { ...kept, 'karpenter.sh/do-not-disrupt': legacy };
}

function readOwner(metadata: Raw): Owner | undefined {
  const owners = readEach(
    metadata['ownerReferences'],
    'metadata.ownerReferences',
    (item, path) => ({
      controller: readFlag(item['controller'], `${path}.controller`) ?? false,
      owner: {
        apiVersion: readText(item['apiVersion'], `${path}.apiVersion`) ?? '',
        kind: readText(item['kind'], `${path}.kind`) ?? '',
        name: readText(item['name'], `${path}.name`) ?? '',
        uid: readText(item['uid'], `${path}.uid`) ?? '',
      },
    }),
  );
  return owners.find((one) => one.controller)?.owner;
}

function readHostPorts(spec: Raw): readonly HostPort[] {
  // On the host's network every container port is a host port. The API server writes it in; a
  // manifest may lack it.
  const hostNetwork = readFlag(spec['hostNetwork'], 'spec.hostNetwork') ?? false;
  const portsOf = (container: Raw, path: string): readonly HostPort[] =>
    readEach(container['ports'], `${path}.ports`, (item, at) => ({
      ip: readText(item['hostIP'], `${at}.hostIP`) || '0.0.0.0',
      port:
        readInteger(item['hostPort'], `${at}.hostPort`, { min: 0, max: 65_535 }) ||
        (hostNetwork
          ? (readInteger(item['containerPort'], `${at}.containerPort`, { min: 1, max: 65_535 }) ??
            0)
          : 0),
      protocol: readOneOf(item['protocol'], `${at}.protocol`, ['TCP', 'UDP', 'SCTP'], 'TCP'),
    })).filter(({ port }) => port > 0);
  const sidecar = (container: Raw): boolean => container['restartPolicy'] === 'Always';
  return [
    ...readEach(spec['containers'], 'spec.containers', portsOf),
    ...readEach(spec['initContainers'], 'spec.initContainers', (container, path) =>
      sidecar(container) ? portsOf(container, path) : [],
    ),
  ].flat();
}

function readVolumes(spec: Raw, podName: string): readonly PodVolume[] {
  return readEach(spec['volumes'], 'spec.volumes', (item, path): readonly PodVolume[] => {
    if (item['persistentVolumeClaim'] !== undefined) {
      const claim = readRecord(item['persistentVolumeClaim'], `${path}.persistentVolumeClaim`);
      return [
        {
          claimName: readRequiredText(
            claim['claimName'],
            `${path}.persistentVolumeClaim.claimName`,
          ),
        },
      ];
    }
    if (item['ephemeral'] === undefined) return [];
    const template = readRecord(
      readRecord(item['ephemeral'], `${path}.ephemeral`)['volumeClaimTemplate'],
      `${path}.ephemeral.volumeClaimTemplate`,
    );
    const claimSpec = readRecord(template['spec'], `${path}.ephemeral.volumeClaimTemplate.spec`);
    const storageClassName = readText(
      claimSpec['storageClassName'],
      `${path}.ephemeral.volumeClaimTemplate.spec.storageClassName`,
    );
    return [
      {
        claimName: `${podName}-${readRequiredText(item['name'], `${path}.name`)}`,
        ephemeral: optional('storageClassName', storageClassName),
      },
    ];
  }).flat();
}

type Condition = { readonly type: string; readonly status: string; readonly reason: string };

function readConditions(status: Raw): readonly Condition[] {
  return readEach(status['conditions'], 'status.conditions', (item, path) => ({
    type: readText(item['type'], `${path}.type`) ?? '',
    status: readText(item['status'], `${path}.status`) ?? '',
    reason: readText(item['reason'], `${path}.reason`) ?? '',
  }));
}

type StatusPart = Pick<Pod, 'phase' | 'ready' | 'unschedulable' | 'startMs' | 'nominatedNodeName'>;

function readStatus(status: Raw): StatusPart {
  const conditions = readConditions(status);
  const has = (wanted: Partial<Condition>): boolean =>
    conditions.some(
      (one) =>
        one.type === wanted.type &&
        one.status === wanted.status &&
        (wanted.reason === undefined || one.reason === wanted.reason),
    );
  return {
    phase: readOneOf(
      status['phase'],
      'status.phase',
      ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'],
      'Pending',
    ),
    ...optional('startMs', readTimeMs(status['startTime'], 'status.startTime')),
    ready: has({ type: 'Ready', status: 'True' }),
    unschedulable: has({ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }),
    ...optional(
      'nominatedNodeName',
      readText(status['nominatedNodeName'], 'status.nominatedNodeName') || undefined,
    ),
  };
}

type SpecPart = Omit<
  Pod,
  | 'uid'
  | 'namespace'
  | 'name'
  | 'resourceVersion'
  | 'labels'
  | 'annotations'
  | 'createdMs'
  | 'requests'
  | 'owner'
  | 'mirror'
  | keyof StatusPart
>;

function readSpec(spec: Raw, meta: Pick<Meta, 'name' | 'labels'>): SpecPart {
  return {
    ...optional('nodeName', readText(spec['nodeName'], 'spec.nodeName') || undefined),
    priority: readInteger(spec['priority'], 'spec.priority', int32) ?? 0,
    ...optional(
      'priorityClassName',
      readText(spec['priorityClassName'], 'spec.priorityClassName') || undefined,
    ),
    schedulerName: readText(spec['schedulerName'], 'spec.schedulerName') || 'default-scheduler',
    schedulingGates: readEach(
      spec['schedulingGates'],
      'spec.schedulingGates',
      (item, path) => readText(item['name'], `${path}.name`) ?? '',
    ),
    schedulingGroup: (spec['workloadRef'] ?? spec['schedulingGroup'] ?? undefined) !== undefined,
    nodeSelector: readTextMap(spec['nodeSelector'], 'spec.nodeSelector'),
    ...readAffinities(spec['affinity'], 'spec.affinity', meta.labels),
    tolerations: readTolerations(spec['tolerations'], 'spec.tolerations'),
    topologySpread: readTopologySpread(
      spec['topologySpreadConstraints'],
      'spec.topologySpreadConstraints',
      meta.labels,
    ),
    hostPorts: readHostPorts(spec),
    volumes: readVolumes(spec, meta.name),
    resourceClaims: readEach(
      spec['resourceClaims'],
      'spec.resourceClaims',
      (item, path) => readText(item['name'], `${path}.name`) ?? '',
    ),
    terminationGracePeriodSeconds:
      readInteger(spec['terminationGracePeriodSeconds'], 'spec.terminationGracePeriodSeconds', {
        min: 0,
      }) ?? 30,
  };
}

function readPod(object: Raw, meta: Meta): Pod {
  const metadata = readRecord(object['metadata'], 'metadata');
  return {
    uid: meta.uid,
    namespace: meta.namespace,
    name: meta.name,
    resourceVersion: meta.resourceVersion,
    labels: meta.labels,
    annotations: keptAnnotations(meta.annotations),
    createdMs: meta.createdMs,
    ...optional('deletionMs', meta.deletionMs),
    ...readStatus(readRecord(object['status'], 'status')),
    ...optional('owner', readOwner(metadata)),
    mirror: Object.hasOwn(meta.annotations, 'kubernetes.io/config.mirror'),
    requests: podRequests(object),
    ...readSpec(readRecord(object['spec'], 'spec'), meta),
  };
}

/** Reads a Pod of v1. Fields have the API server's defaults, so manifests can be read as well. */
export function podOf(raw: unknown): Parsed<Pod> {
  return parsed(() => {
    const object = readObject(raw);
    return readPod(object, readMeta(object));
  });
}

/**
 * The tolerations that the daemonset controller adds (Kubernetes' AddOrUpdateDaemonPodTolerations).
 */
function daemonTolerations(hostNetwork: boolean): readonly Toleration[] {
  const tolerate = (key: string, effect: 'NoSchedule' | 'NoExecute'): Toleration => ({
    key,
    operator: 'Exists',
    effect,
  });
  return [
    tolerate('node.kubernetes.io/not-ready', 'NoExecute'),
    tolerate('node.kubernetes.io/unreachable', 'NoExecute'),
    tolerate('node.kubernetes.io/disk-pressure', 'NoSchedule'),
    tolerate('node.kubernetes.io/memory-pressure', 'NoSchedule'),
    tolerate('node.kubernetes.io/pid-pressure', 'NoSchedule'),
    tolerate('node.kubernetes.io/unschedulable', 'NoSchedule'),
    ...(hostNetwork ? [tolerate('node.kubernetes.io/network-unavailable', 'NoSchedule')] : []),
  ];
}

/** Reports an error inside a pod template with its path in the whole object. */
function withinTemplate<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Malformed)
      throw new Malformed(
        `spec.template.${error.failure.field}`,
        undefined,
        error.failure.remedy,
        error.failure.value,
      );
    throw error;
  }
}

/**
 * Reads a DaemonSet of apps/v1. Its template gets the daemonset's identity and the tolerations that
 * its controller adds.
 */
export function daemonSetOf(raw: unknown): Parsed<DaemonSet> {
  return parsed(() => {
    const object = readObject(raw);
    const meta = readMeta(object);
    const template = readRecord(readRecord(object['spec'], 'spec')['template'], 'spec.template');
    return withinTemplate((): DaemonSet => {
      const metadata = readRecord(template['metadata'], 'metadata');
      const hostNetwork = readRecord(template['spec'], 'spec')['hostNetwork'] === true;
      const pod = readPod(
        { metadata, spec: template['spec'] },
        {
          ...meta,
          labels: readTextMap(metadata['labels'], 'metadata.labels'),
          annotations: readTextMap(metadata['annotations'], 'metadata.annotations'),
        },
      );
      const owner: Owner = {
        apiVersion: 'apps/v1',
        kind: 'DaemonSet',
        name: meta.name,
        uid: meta.uid,
      };
      return {
        uid: meta.uid,
        namespace: meta.namespace,
        name: meta.name,
        resourceVersion: meta.resourceVersion,
        template: {
          ...pod,
          owner,
          tolerations: [...pod.tolerations, ...daemonTolerations(hostNetwork)],
        },
      };
    });
  });
}
