import { lookUp, put } from '@dovetail/core-invariant';
import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import { listOf } from '../model/json.js';
import { amountsOf } from '../model/quantity.js';

/** Records of a list, as records. */
const records = (value: unknown): readonly Raw[] => listOf(value).filter(isRecord);

const mapped = (record: Raw, field: string, change: (item: Raw) => Raw): Raw =>
  Array.isArray(lookUp(record, field))
    ? { [field]: records(lookUp(record, field)).map(change) }
    : {};

function imagePullPolicy(image: unknown): string {
  const name = typeof image === 'string' ? image.slice(image.lastIndexOf('/') + 1) : '';
  const tagged = name.includes('@') || (name.includes(':') && !name.endsWith(':latest'));
  return tagged ? 'IfNotPresent' : 'Always';
}

/** Requests that are not given are the limits. */
function containerResources(resources: Raw): Raw {
  const limits = recordOf(resources['limits']);
  if (Object.keys(limits).length === 0) return resources;
  return { ...resources, requests: { ...limits, ...recordOf(resources['requests']) } };
}

const probe = (value: unknown): Raw => ({
  timeoutSeconds: 1,
  periodSeconds: 10,
  successThreshold: 1,
  failureThreshold: 3,
  ...recordOf(value),
});

function container(spec: Raw): Raw {
  const probes: Record<string, unknown> = {};
  for (const field of ['livenessProbe', 'readinessProbe', 'startupProbe'])
    if (isRecord(lookUp(spec, field))) put(probes, field, probe(lookUp(spec, field)));
  return {
    imagePullPolicy: imagePullPolicy(spec['image']),
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    ...spec,
    ...probes,
    resources: containerResources(recordOf(spec['resources'])),
    ...mapped(spec, 'ports', (port) => ({ protocol: 'TCP', ...port })),
  };
}

function volume(spec: Raw): Raw {
  const filled: Record<string, unknown> = { ...spec };
  for (const field of ['configMap', 'secret', 'projected', 'downwardAPI']) {
    const source = lookUp(spec, field);
    if (isRecord(source)) put(filled, field, { defaultMode: 420, ...source });
  }
  if (isRecord(spec['hostPath'])) filled['hostPath'] = { type: '', ...spec['hostPath'] };
  if (Object.keys(spec).length === 1) filled['emptyDir'] = {};
  return filled;
}

/** The defaults of a pod's spec, in pods and in templates alike. */
export function podSpecDefaults(spec: Raw): Raw {
  return {
    restartPolicy: 'Always',
    dnsPolicy: 'ClusterFirst',
    schedulerName: 'default-scheduler',
    terminationGracePeriodSeconds: 30,
    securityContext: {},
    ...spec,
    ...mapped(spec, 'containers', container),
    ...mapped(spec, 'initContainers', container),
    ...mapped(spec, 'volumes', volume),
    ...mapped(spec, 'topologySpreadConstraints', (constraint) => ({ ...constraint })),
  };
}

/** The defaults of a template: those of its pod. */
export function templateDefaults(template: unknown): Raw {
  const record = recordOf(template);
  return {
    ...record,
    metadata: recordOf(record['metadata']),
    spec: podSpecDefaults(recordOf(record['spec'])),
  };
}

/**
 * A pod's spec with the additions of the admission plug-ins DefaultTolerationSeconds and Priority.
 */
export function admittedPodSpec(
  spec: Raw,
  priority: { readonly value: number; readonly policy: string },
): Raw {
  const given = records(spec['tolerations']);
  const added = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']
    .filter(
      (key) =>
        !given.some(
          (toleration) =>
            (toleration['key'] === undefined || toleration['key'] === key) &&
            (toleration['effect'] === undefined || toleration['effect'] === 'NoExecute'),
        ),
    )
    .map((key) => ({ key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }));
  const tolerations = [
    ...given.map((toleration) =>
      toleration['key'] !== undefined &&
      toleration['operator'] === undefined &&
      toleration['value'] === undefined
        ? toleration
        : toleration,
    ),
    ...added,
  ];
  return {
    enableServiceLinks: true,
    preemptionPolicy: priority.policy,
    ...spec,
    priority: priority.value,
    tolerations,
  };
}

/** Guaranteed, Burstable or BestEffort, from CPU and memory of all containers. */
export function qosClass(spec: Raw): string {
  const containers = [...records(spec['containers']), ...records(spec['initContainers'])].map(
    (one) => recordOf(one['resources']),
  );
  const amounts = (resources: Raw, field: string): Readonly<Record<string, number>> =>
    amountsOf(recordOf(lookUp(resources, field)) as Record<string, string>);
  const names = ['cpu', 'memory'] as const;
  const any = containers.some((resources) =>
    names.some(
      (name) =>
        (amounts(resources, 'requests')[name] ?? 0) > 0 ||
        (amounts(resources, 'limits')[name] ?? 0) > 0,
    ),
  );
  if (!any) return 'BestEffort';
  const guaranteed = containers.every((resources) =>
    names.every((name) => {
      const limit = amounts(resources, 'limits')[name] ?? 0;
      return limit > 0 && (amounts(resources, 'requests')[name] ?? limit) === limit;
    }),
  );
  return guaranteed ? 'Guaranteed' : 'Burstable';
}
