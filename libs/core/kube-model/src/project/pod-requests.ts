import { lookUp, put } from '@dovetail/core-invariant';

import type { Resources } from '../quantity.js';
import { resourcesOf } from '../quantity-text.js';
import { addResources, maxResources, noResources } from '../resources.js';
import { isRecord, Malformed, type Raw, readEach, readRecord } from './raw.js';

const record = (raw: unknown): Raw => (isRecord(raw) ? raw : {});
const records = (raw: unknown): readonly Raw[] => (Array.isArray(raw) ? raw.map(record) : []);

/** Reads the amounts of a pod. Throws Malformed for what is no quantity, and below zero. */
function amounts(raw: unknown, field: string): Resources {
  const parsed = resourcesOf(readRecord(raw, field));
  if (!parsed.ok)
    throw new Malformed(
      `${field}.${parsed.name}`,
      parsed.value,
      'write a Kubernetes quantity such as 500m, 2 or 4Gi',
    );
  for (const [name, amount] of Object.entries(parsed.value))
    if (amount < 0)
      throw new Malformed(
        `${field}.${name}`,
        lookUp(record(raw), name),
        'write a quantity of 0 or more',
      );
  return parsed.value;
}

/**
 * Requests of one container. A limit without a request is the request, as the API server defaults
 * it.
 */
function specRequests(resources: unknown, field: string): Resources {
  const { requests, limits } = readRecord(resources, field);
  return { ...amounts(limits, `${field}.limits`), ...amounts(requests, `${field}.requests`) };
}

type Statuses = ReadonlyMap<string, Raw>;

function statusesOf(status: Raw): Statuses {
  const all = [
    ...records(status['containerStatuses']),
    ...records(status['initContainerStatuses']),
  ];
  return new Map(
    all.flatMap((one) => (typeof one['name'] === 'string' ? [[one['name'], one] as const] : [])),
  );
}

/**
 * Whether the kubelet can never grant the resize that the spec asks for. Then only the present
 * amounts count.
 */
function resizeIsInfeasible(status: Raw): boolean {
  return (
    status['resize'] === 'Infeasible' ||
    records(status['conditions']).some(
      (condition) =>
        condition['type'] === 'PodResizePending' && condition['reason'] === 'Infeasible',
    )
  );
}

type Counted = { readonly statuses: Statuses; readonly infeasible: boolean };

/**
 * Requests under in-place resize: the largest of spec, the kubelet's allocation and the running
 * amounts.
 */
function containerRequests(container: Raw, field: string, counted: Counted): Resources {
  const wanted = specRequests(container['resources'], `${field}.resources`);
  const status =
    typeof container['name'] === 'string' ? counted.statuses.get(container['name']) : undefined;
  if (
    status === undefined ||
    typeof status['resources'] !== 'object' ||
    status['resources'] === null
  )
    return wanted;
  const name = String(container['name']);
  const running = amounts(
    record(status['resources'])['requests'],
    `status.containerStatuses[${name}].resources.requests`,
  );
  const allocated = amounts(
    status['allocatedResources'],
    `status.containerStatuses[${name}].allocatedResources`,
  );
  const held = maxResources(running, allocated);
  return counted.infeasible ? held : maxResources(wanted, held);
}

function aggregateRequests(spec: Raw, counted: Counted): Resources {
  let total = noResources;
  readEach(spec['containers'], 'spec.containers', (container, field) => {
    total = addResources(total, containerRequests(container, field, counted));
  });
  let sidecars = noResources;
  let initPeak = noResources;
  readEach(spec['initContainers'], 'spec.initContainers', (container, field) => {
    if (container['restartPolicy'] === 'Always') {
      const requests = containerRequests(container, field, counted);
      total = addResources(total, requests);
      sidecars = addResources(sidecars, requests);
      initPeak = maxResources(initPeak, sidecars);
    } else {
      // An ordinary init container runs beside the sidecars that started before it.
      initPeak = maxResources(
        initPeak,
        addResources(specRequests(container['resources'], `${field}.resources`), sidecars),
      );
    }
  });
  return maxResources(total, initPeak);
}

const podLevel = (name: string): boolean =>
  name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');

function withPodLevel(total: Resources, resources: unknown): Resources {
  const result: Record<string, number> = { ...total };
  const { requests, limits } = readRecord(resources, 'spec.resources');
  for (const [name, amount] of Object.entries(amounts(limits, 'spec.resources.limits'))) {
    if (podLevel(name) && lookUp(result, name) === undefined) put(result, name, amount);
  }
  for (const [name, amount] of Object.entries(amounts(requests, 'spec.resources.requests'))) {
    if (podLevel(name)) put(result, name, amount);
  }
  return result;
}

/**
 * The requests that kube-scheduler counts for a pod (k8s.io/component-helpers' PodRequests, with
 * status resources). They are the sum of containers and sidecars, or the peak of the init
 * containers where that is more. Pod-level requests replace the sum where they are set. Overhead
 * and one `pods` come on top.
 * Throws Malformed for amounts that the API server refuses.
 */
export function podRequests(pod: Raw): Resources {
  const spec = readRecord(pod['spec'], 'spec');
  const status = readRecord(pod['status'], 'status');
  const counted = { statuses: statusesOf(status), infeasible: resizeIsInfeasible(status) };
  const total = withPodLevel(aggregateRequests(spec, counted), spec['resources']);
  return { ...addResources(total, amounts(spec['overhead'], 'spec.overhead')), pods: 1 };
}
