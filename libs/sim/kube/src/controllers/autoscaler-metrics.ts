import { lookUp } from '@dovetail/core-invariant';
import { type Raw, recordOf } from '@dovetail/core-kube-model';
import { messageOf } from '@dovetail/core-ports';

import { textOf } from '../model/json.js';
import { type ContainerSpec, isReady, type Pod, type StoredObject } from '../model/objects.js';
import { parseMillis, quantityText } from '../model/quantity.js';

/** The object that is scaled, its replicas and its pods. */
export type ScaleView = {
  readonly object: StoredObject;
  readonly replicas: number;
  readonly pods: readonly Pod[];
};

/** The number of replicas that a metric asks for. `status` is its entry of currentMetrics. */
export type Proposal = { readonly replicas: number; readonly name: string; readonly status: Raw };

/** A metric that gives no number. The messages are those of Kubernetes' controller. */
export class MetricError extends Error {
  override readonly name = 'MetricError';
  /** The reason of the condition and of the Event. */
  readonly reason: string;
  /** The message within the Event about all metrics. */
  readonly whole: string;

  constructor(reason: string, message: string, lead: string) {
    super(message);
    this.reason = reason;
    this.whole = `${lead}: ${message}`;
  }
}

const prefix = 'lab.dovetail.sh/';
const tolerance = 0.1;
const noMetrics =
  'unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)';

function annotatedMillis(object: StoredObject, key: string, form: string): number | undefined {
  const text = lookUp(object.metadata.annotations, `${prefix}${key}`);
  if (text === undefined) return undefined;
  const millis = parseMillis(text);
  if (millis !== undefined && millis >= 0) return millis;
  throw new Error(
    `the annotation ${prefix}${key} of ${object.kind} ${object.metadata.name} is ${JSON.stringify(text)}: give ${form}`,
  );
}

/** Containers that run as long as the pod. */
const lasting = ({ spec }: Pod): readonly ContainerSpec[] => [
  ...spec.containers,
  ...(spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always'),
];

function requestOf(pod: Pod, resource: string): number {
  const ofPod = lookUp(pod.spec.resources?.requests, resource);
  if (ofPod !== undefined) return parseMillis(ofPod) ?? 0;
  return lasting(pod).reduce((sum, container) => {
    const request = lookUp(container.resources?.requests, resource);
    if (request === undefined)
      throw new Error(
        `missing request for ${resource} in container ${container.name} of Pod ${pod.metadata.name}`,
      );
    return sum + (parseMillis(request) ?? 0);
  }, 0);
}

/** Pods with a measured use, and those that wait or start. Pods on their way out are neither. */
function groupsOf(
  pods: readonly Pod[],
  resource: string,
): { readonly ready: readonly Pod[]; readonly unready: readonly Pod[] } {
  const kept = pods.filter(
    ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined && status?.phase !== 'Failed',
  );
  const isMeasured = (pod: Pod): boolean =>
    pod.status?.phase !== 'Pending' && (resource !== 'cpu' || isReady(pod));
  return { ready: kept.filter(isMeasured), unready: kept.filter((pod) => !isMeasured(pod)) };
}

/**
 * The use of all measured pods together, in thousandths, as the annotations of the scaled object
 * say; undefined without one.
 */
function totalUse(
  { object }: ScaleView,
  resource: string,
  ready: readonly Pod[],
): number | undefined {
  const form = resource === 'cpu' ? 'cores, as 2500m' : 'bytes, as 6Gi';
  const total = annotatedMillis(object, `${resource}-total`, form);
  if (total !== undefined) return total;
  const percent = annotatedMillis(object, `${resource}-percent`, 'a percentage, as 75');
  return percent === undefined
    ? undefined
    : ready.reduce((sum, pod) => sum + (requestOf(pod, resource) * percent) / 100_000, 0);
}

const isWithin = (ratio: number): boolean => ratio >= 1 - tolerance && ratio <= 1 + tolerance;

/**
 * The replicas for a ratio of use to target, by replica_calculator.go of Kubernetes: pods that
 * start count as idle when more are needed, and never turn the direction.
 */
function replicasFor(
  current: number,
  counts: { readonly ready: number; readonly unready: number },
  ratios: { readonly measured: number; readonly withIdle: number },
): number {
  const { measured, withIdle } = ratios;
  if (counts.unready === 0 || measured <= 1)
    return isWithin(measured) ? current : Math.ceil(measured * counts.ready);
  if (isWithin(withIdle) || withIdle < 1) return current;
  return Math.max(current, Math.ceil(withIdle * (counts.ready + counts.unready)));
}

type Measured = {
  readonly ready: readonly Pod[];
  readonly unready: readonly Pod[];
  readonly use: number;
};

function measure(scale: ScaleView, resource: string): Measured {
  const { ready, unready } = groupsOf(scale.pods, resource);
  const use = totalUse(scale, resource, ready);
  if (use === undefined)
    throw new Error(`unable to get metrics for resource ${resource}: ${noMetrics}`);
  if (scale.pods.length === 0)
    throw new Error('no pods returned by selector while calculating replica count');
  if (ready.length === 0)
    throw new Error('did not receive metrics for targeted pods (pods might be unready)');
  return { ready, unready, use };
}

const countsOf = ({ ready, unready }: Measured): { ready: number; unready: number } => ({
  ready: ready.length,
  unready: unready.length,
});

function byUtilization(scale: ScaleView, resource: string, target: number): Proposal {
  const measured = measure(scale, resource);
  const { ready, unready, use } = measured;
  const requests = (pods: readonly Pod[]): number =>
    pods.reduce((sum, pod) => sum + requestOf(pod, resource), 0);
  const [ofReady, ofUnready] = [requests(ready), requests(unready)];
  if (ofReady === 0) throw new Error('no metrics returned matched known pods');
  const percent = (requested: number): number => Math.trunc((use * 100) / requested);
  return {
    replicas: replicasFor(scale.replicas, countsOf(measured), {
      measured: percent(ofReady) / target,
      withIdle: percent(ofReady + ofUnready) / target,
    }),
    name: `${resource} resource utilization (percentage of request)`,
    status: {
      averageUtilization: percent(ofReady),
      averageValue: quantityText(resource, Math.trunc(use / ready.length)),
    },
  };
}

function byValue(scale: ScaleView, resource: string, target: number): Proposal {
  const measured = measure(scale, resource);
  const { ready, unready, use } = measured;
  const average = Math.trunc(use / ready.length);
  return {
    replicas: replicasFor(scale.replicas, countsOf(measured), {
      measured: average / target,
      withIdle: Math.trunc(use / (ready.length + unready.length)) / target,
    }),
    name: `${resource} resource`,
    status: { averageValue: quantityText(resource, average) },
  };
}

function byResource(scale: ScaleView, source: Raw): Proposal {
  const resource = textOf(source['name']);
  const { averageValue, averageUtilization } = recordOf(source['target']);
  const ofValue = averageValue !== undefined;
  try {
    const { replicas, name, status } = ofValue
      ? byValue(scale, resource, parseMillis(textOf(averageValue)) ?? 0)
      : byUtilization(scale, resource, Number(averageUtilization));
    const entry = { name: resource, current: status };
    return { replicas, name, status: { type: 'Resource', resource: entry } };
  } catch (thrown) {
    const why = messageOf(thrown);
    throw new MetricError(
      'FailedGetResourceMetric',
      `failed to get ${resource} ${ofValue ? 'usage' : 'utilization'}: ${why}`,
      `failed to get ${resource} resource metric value`,
    );
  }
}

const noCustomMetrics =
  'unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered';

/** The sources that a lab has no numbers for fail as in a cluster without their APIs. */
function withoutNumbers(type: string, metric: Raw, namespace: string): MetricError {
  const source = recordOf(lookUp(metric, `${type.slice(0, 1).toLowerCase()}${type.slice(1)}`));
  const name = textOf(recordOf(source['metric'])['name']);
  const { kind, name: described } = recordOf(source['describedObject']);
  const resource = textOf(source['name']);
  const rows: Readonly<Record<string, readonly [message: string, lead: string]>> = {
    Pods: [`unable to get metric ${name}: ${noCustomMetrics}`, 'failed to get pods metric value'],
    Object: [
      `unable to get metric ${name}: ${textOf(kind)} on ${namespace} ${textOf(described)}/${noCustomMetrics}`,
      'failed to get object metric value',
    ],
    External: [
      `unable to get external metric ${namespace}/${name}/nil: unable to fetch metrics from external metrics API: the server could not find the requested resource (get ${name}.external.metrics.k8s.io)`,
      `failed to get ${name} external metric value`,
    ],
    ContainerResource: [
      `failed to get ${resource} utilization: unable to get metrics for resource ${resource}: ${noMetrics}`,
      `failed to get ${textOf(source['container'])} container metric value`,
    ],
  };
  const [message, lead] = lookUp(rows, type) ?? [
    `unknown metric source type "${type}"`,
    'invalid metric',
  ];
  return new MetricError(`FailedGet${type}Metric`, message, lead);
}

/** The replicas that one metric of a HorizontalPodAutoscaler asks for. Throws MetricError. */
export function proposalOf(scale: ScaleView, metric: Raw): Proposal {
  const type = textOf(metric['type']);
  if (type === 'Resource') return byResource(scale, recordOf(metric['resource']));
  throw withoutNumbers(type, metric, scale.object.metadata.namespace ?? '');
}
