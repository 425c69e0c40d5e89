import { lookUp } from '@dovetail/core-invariant';
import { recordOf } from '@dovetail/core-kube-model';

import { listOf, textOf } from '../../model/json.js';
import {
  conditionOf,
  type ContainerStatusView,
  isReady,
  type Node,
  type Pod,
  type StoredObject,
} from '../../model/objects.js';
import { ageColumn, type Column, column, nameColumn, orNone } from './column.js';

function initStatus(pod: Pod): string | undefined {
  const statuses = pod.status?.initContainerStatuses ?? [];
  const all = pod.spec.initContainers ?? [];
  for (const [index, status] of statuses.entries()) {
    const restarts = all.find((one) => one.name === status.name)?.restartPolicy === 'Always';
    if (status.state?.terminated?.exitCode === 0 || (restarts && status.ready)) continue;
    const why = status.state?.terminated?.reason ?? status.state?.waiting?.reason ?? '';
    return why !== '' && why !== 'PodInitializing' ? `Init:${why}` : `Init:${index}/${all.length}`;
  }
  return undefined;
}

function containersStatus(statuses: readonly ContainerStatusView[], otherwise: string): string {
  let reason = otherwise;
  for (const status of [...statuses].reverse()) {
    const { waiting, terminated } = status.state ?? {};
    if ((waiting?.reason ?? '') !== '') reason = waiting?.reason as string;
    else if ((terminated?.reason ?? '') !== '') reason = terminated?.reason as string;
    else if (terminated !== undefined) reason = `ExitCode:${terminated.exitCode ?? 0}`;
  }
  return reason;
}

/** The word that kubectl prints for a pod's state. */
function podStatusText(pod: Pod): string {
  const phase = textOf(pod.status?.reason) || textOf(pod.status?.phase);
  const gated = conditionOf(pod.status?.conditions, 'PodScheduled')?.reason === 'SchedulingGated';
  const initial = phase === 'Pending' ? initStatus(pod) : undefined;
  let status = gated
    ? 'SchedulingGated'
    : (initial ?? containersStatus(pod.status?.containerStatuses ?? [], phase));
  if (status === 'Completed' && (pod.status?.containerStatuses ?? []).some((one) => one.ready))
    status = isReady(pod) ? 'Running' : 'NotReady';
  if (pod.metadata.deletionTimestamp === undefined) return status;
  return pod.status?.reason === 'NodeLost' ? 'Unknown' : 'Terminating';
}

const sidecars = (pod: Pod): readonly string[] =>
  (pod.spec.initContainers ?? [])
    .filter((one) => one.restartPolicy === 'Always')
    .map((one) => one.name);

function readyText(pod: Pod): string {
  const extra = sidecars(pod);
  const statuses = [
    ...(pod.status?.containerStatuses ?? []),
    ...(pod.status?.initContainerStatuses ?? []).filter((one) => extra.includes(one.name)),
  ];
  return `${statuses.filter((one) => one.ready).length}/${pod.spec.containers.length + extra.length}`;
}

const asPod =
  (read: (pod: Pod) => string) =>
  (object: StoredObject): string =>
    read(object as Pod);

function gatesText(pod: Pod): string {
  const gates = listOf(recordOf(pod.spec)['readinessGates']);
  const met = gates.filter(
    (gate) =>
      conditionOf(pod.status?.conditions, textOf(recordOf(gate)['conditionType']))?.status ===
      'True',
  );
  return gates.length === 0 ? '<none>' : `${met.length}/${gates.length}`;
}

/** The columns that kubectl prints for pods. */
export const podColumns: readonly Column[] = [
  nameColumn,
  column('Ready', asPod(readyText)),
  column('Status', asPod(podStatusText)),
  column(
    'Restarts',
    asPod((pod) =>
      String((pod.status?.containerStatuses ?? []).reduce((sum, one) => sum + one.restartCount, 0)),
    ),
  ),
  ageColumn,
  column(
    'IP',
    asPod((pod) => orNone(textOf(pod.status?.podIP))),
    { wide: true },
  ),
  column(
    'Node',
    asPod((pod) => orNone(textOf(pod.spec.nodeName))),
    { wide: true },
  ),
  column(
    'Nominated Node',
    asPod((pod) => orNone(textOf(pod.status?.nominatedNodeName))),
    { wide: true },
  ),
  column('Readiness Gates', asPod(gatesText), { wide: true }),
];

const rolePrefix = 'node-role.kubernetes.io/';

function rolesText(node: Node): string {
  const labels = node.metadata.labels ?? {};
  const roles = Object.keys(labels)
    .filter((label) => label.startsWith(rolePrefix) && label.length > rolePrefix.length)
    .map((label) => label.slice(rolePrefix.length));
  if (labels['kubernetes.io/role'] !== undefined) roles.push(labels['kubernetes.io/role']);
  return orNone([...new Set(roles)].sort().join(','));
}

function nodeStatusText(node: Node): string {
  const ready = conditionOf(node.status?.conditions, 'Ready');
  const words = [ready === undefined ? 'Unknown' : ready.status === 'True' ? 'Ready' : 'NotReady'];
  if (node.spec?.unschedulable === true) words.push('SchedulingDisabled');
  return words.join(',');
}

const asNode =
  (read: (node: Node) => string) =>
  (object: StoredObject): string =>
    read(object);
const address = (type: string) =>
  asNode((node) => orNone(node.status?.addresses?.find((one) => one.type === type)?.address ?? ''));
const info = (field: string) => asNode((node) => lookUp(node.status?.nodeInfo, field) ?? '');
const known =
  (read: (object: StoredObject) => string) =>
  (object: StoredObject): string =>
    read(object) || '<unknown>';

/** The columns that kubectl prints for nodes. */
export const nodeColumns: readonly Column[] = [
  nameColumn,
  column('Status', asNode(nodeStatusText)),
  column('Roles', asNode(rolesText)),
  ageColumn,
  column('Version', info('kubeletVersion')),
  column('Internal-IP', address('InternalIP'), { wide: true }),
  column('External-IP', address('ExternalIP'), { wide: true }),
  column('OS-Image', known(info('osImage')), { wide: true }),
  column('Kernel-Version', known(info('kernelVersion')), { wide: true }),
  column('Container-Runtime', known(info('containerRuntimeVersion')), { wide: true }),
];
