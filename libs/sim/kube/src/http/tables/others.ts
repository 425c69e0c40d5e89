import { lookUp } from '@dovetail/core-invariant';
import { compareText, recordOf } from '@dovetail/core-kube-model';

import { listOf, textOf } from '../../model/json.js';
import type { StoredObject } from '../../model/objects.js';
import {
  ageColumn,
  ageText,
  type Cell,
  type Column,
  column,
  createdColumn,
  nameColumn,
  orNone,
} from './column.js';

const at =
  (...path: readonly string[]) =>
  (object: StoredObject): unknown =>
    path.reduce<unknown>((value, step) => lookUp(recordOf(value), step), object);
const text =
  (...path: readonly string[]) =>
  (object: StoredObject): string =>
    textOf(at(...path)(object));
const size =
  (...path: readonly string[]) =>
  (object: StoredObject): number =>
    Object.keys(recordOf(at(...path)(object))).length;

const eventTime = (object: StoredObject, field: string): string =>
  textOf(lookUp(object, field)) || textOf(object['eventTime']);

function lastSeen(object: StoredObject, now: number): string {
  return ageText(
    textOf(recordOf(object['series'])['lastObservedTime']) || eventTime(object, 'lastTimestamp'),
    now,
  );
}

function eventSource(object: StoredObject): string {
  const { component, host } = recordOf(object['source']);
  const parts = [
    textOf(component) || textOf(object['reportingComponent']),
    textOf(host) || textOf(object['reportingInstance']),
  ];
  return parts.filter((part) => part !== '').join(', ');
}

const eventColumns: readonly Column[] = [
  column('Last Seen', lastSeen),
  column('Type', text('type')),
  column('Reason', text('reason')),
  column(
    'Object',
    (object) =>
      `${text('involvedObject', 'kind')(object).toLowerCase()}/${text('involvedObject', 'name')(object)}`,
  ),
  column('Subobject', text('involvedObject', 'fieldPath'), { wide: true }),
  column('Source', eventSource, { wide: true }),
  column('Message', (object) => textOf(object['message']).trim()),
  column('First Seen', (object, now) => ageText(eventTime(object, 'firstTimestamp'), now), {
    wide: true,
  }),
  column(
    'Count',
    (object) => String(Number(recordOf(object['series'])['count'] ?? object['count'] ?? 1) || 1),
    { wide: true },
  ),
  { ...nameColumn, wide: true },
];

const ingressColumns: readonly Column[] = [
  nameColumn,
  column('Class', (object) => text('spec', 'ingressClassName')(object) || '<none>'),
  column('Hosts', (object) => {
    const hosts = listOf(at('spec', 'rules')(object)).map((rule) => recordOf(rule)['host']);
    return hosts.filter((host) => typeof host === 'string').join(',') || '*';
  }),
  // No controller of the twin gives an Ingress an address.
  column('Address', () => ''),
  column('Ports', (object) => (at('spec', 'tls')(object) === undefined ? '80' : '80, 443')),
  ageColumn,
];

const budgetColumns: readonly Column[] = [
  nameColumn,
  column('Min Available', (object) => text('spec', 'minAvailable')(object) || 'N/A'),
  column('Max Unavailable', (object) => text('spec', 'maxUnavailable')(object) || 'N/A'),
  column(
    'Allowed Disruptions',
    (object) => Number(at('status', 'disruptionsAllowed')(object) ?? 0),
    { type: 'integer' },
  ),
  ageColumn,
];

function quotaText(limits: boolean): (object: StoredObject) => string {
  return (object) => {
    const hard = recordOf(at('status', 'hard')(object));
    const used = recordOf(at('status', 'used')(object));
    const names = Object.keys(hard)
      .filter((name) => name.startsWith('limits.') === limits)
      .sort(compareText);
    return names
      .map((name) => `${name}: ${textOf(lookUp(used, name)) || '0'}/${textOf(lookUp(hard, name))}`)
      .join(', ');
  };
}

function portsText(object: StoredObject): string {
  const ports = listOf(at('spec', 'ports')(object)).map(recordOf);
  return orNone(
    ports
      .map(
        (port) =>
          `${textOf(port['port'])}${port['nodePort'] === undefined ? '' : `:${textOf(port['nodePort'])}`}/${textOf(port['protocol'])}`,
      )
      .join(','),
  );
}

const labelsText =
  (...path: readonly string[]) =>
  (object: StoredObject): string =>
    orNone(
      Object.entries(recordOf(at(...path)(object)))
        .sort(([left], [right]) => compareText(left, right))
        .map(([key, value]) => `${key}=${textOf(value)}`)
        .join(','),
    );

const serviceColumns: readonly Column[] = [
  nameColumn,
  column('Type', text('spec', 'type')),
  column('Cluster-IP', (object) => orNone(text('spec', 'clusterIP')(object))),
  column('External-IP', () => '<none>'),
  column('Port(s)', portsText),
  ageColumn,
  column('Selector', labelsText('spec', 'selector'), { wide: true }),
];

const shortModes: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};
const modes =
  (...path: readonly string[]) =>
  (object: StoredObject): string =>
    listOf(at(...path)(object))
      .map((mode) => lookUp(shortModes, textOf(mode)) ?? textOf(mode))
      .join(',');
const unset = (): string => '<unset>';
const phase = (object: StoredObject): string =>
  object.metadata.deletionTimestamp === undefined ? text('status', 'phase')(object) : 'Terminating';

const volumeColumns: readonly Column[] = [
  nameColumn,
  column('Capacity', text('spec', 'capacity', 'storage')),
  column('Access Modes', modes('spec', 'accessModes')),
  column('Reclaim Policy', text('spec', 'persistentVolumeReclaimPolicy')),
  column('Status', phase),
  column('Claim', (object) =>
    [text('spec', 'claimRef', 'namespace')(object), text('spec', 'claimRef', 'name')(object)]
      .filter((part) => part !== '')
      .join('/'),
  ),
  column('StorageClass', text('spec', 'storageClassName')),
  column('VolumeAttributesClass', unset),
  column('Reason', text('status', 'reason')),
  ageColumn,
  column('VolumeMode', text('spec', 'volumeMode'), { wide: true }),
];

const claimColumns: readonly Column[] = [
  nameColumn,
  column('Status', phase),
  column('Volume', text('spec', 'volumeName')),
  column('Capacity', text('status', 'capacity', 'storage')),
  column('Access Modes', modes('status', 'accessModes')),
  column('StorageClass', text('spec', 'storageClassName')),
  column('VolumeAttributesClass', unset),
  ageColumn,
  column('VolumeMode', text('spec', 'volumeMode'), { wide: true }),
];

const isDefault = 'storageclass.kubernetes.io/is-default-class';
const flag =
  (...path: readonly string[]) =>
  (object: StoredObject): Cell =>
    at(...path)(object) === true;

const storageClassColumns: readonly Column[] = [
  {
    ...nameColumn,
    cell: (object) =>
      `${object.metadata.name}${object.metadata.annotations?.[isDefault] === 'true' ? ' (default)' : ''}`,
  },
  column('Provisioner', text('provisioner')),
  column('ReclaimPolicy', text('reclaimPolicy')),
  column('VolumeBindingMode', text('volumeBindingMode')),
  column('AllowVolumeExpansion', (object) => String(object['allowVolumeExpansion'] === true)),
  ageColumn,
];

const roleColumn = column(
  'Role',
  (object) => `${text('roleRef', 'kind')(object)}/${text('roleRef', 'name')(object)}`,
);
const subjects =
  (kind: string) =>
  (object: StoredObject): string =>
    listOf(object['subjects'])
      .map(recordOf)
      .filter((one) => one['kind'] === kind)
      .map((one) =>
        kind === 'ServiceAccount'
          ? `${textOf(one['namespace'])}/${textOf(one['name'])}`
          : textOf(one['name']),
      )
      .join(', ');
const bindingColumns: readonly Column[] = [
  nameColumn,
  roleColumn,
  ageColumn,
  column('Users', subjects('User'), { wide: true }),
  column('Groups', subjects('Group'), { wide: true }),
  column('ServiceAccounts', subjects('ServiceAccount'), { wide: true }),
];
const roleColumns: readonly Column[] = [nameColumn, createdColumn];
const data = (object: StoredObject): string =>
  String(size('data')(object) + size('binaryData')(object));

/** The columns of the kinds that are neither pods, nodes nor workloads, by table. */
export const otherColumns: Readonly<Record<string, readonly Column[]>> = {
  events: eventColumns,
  namespaces: [nameColumn, column('Status', text('status', 'phase')), ageColumn],
  services: serviceColumns,
  configmaps: [nameColumn, column('Data', data), ageColumn],
  secrets: [nameColumn, column('Type', text('type')), column('Data', data), ageColumn],
  serviceaccounts: [
    nameColumn,
    column('Secrets', (object) => String(listOf(object['secrets']).length)),
    ageColumn,
  ],
  persistentvolumes: volumeColumns,
  persistentvolumeclaims: claimColumns,
  resourcequotas: [
    nameColumn,
    column('Request', quotaText(false)),
    column('Limit', quotaText(true)),
    ageColumn,
  ],
  'poddisruptionbudgets.policy': budgetColumns,
  'ingresses.networking.k8s.io': ingressColumns,
  'leases.coordination.k8s.io': [
    nameColumn,
    column('Holder', text('spec', 'holderIdentity')),
    ageColumn,
  ],
  'priorityclasses.scheduling.k8s.io': [
    nameColumn,
    column('Value', (object) => Number(object['value'] ?? 0), { type: 'integer' }),
    column('Global-Default', flag('globalDefault'), { type: 'boolean' }),
    ageColumn,
    column('PreemptionPolicy', text('preemptionPolicy')),
  ],
  'storageclasses.storage.k8s.io': storageClassColumns,
  'csinodes.storage.k8s.io': [
    nameColumn,
    column('Drivers', (object) => listOf(at('spec', 'drivers')(object)).length, {
      type: 'integer',
    }),
    ageColumn,
  ],
  'volumeattachments.storage.k8s.io': [
    nameColumn,
    column('Attacher', text('spec', 'attacher')),
    column('PV', text('spec', 'source', 'persistentVolumeName')),
    column('Node', text('spec', 'nodeName')),
    column('Attached', flag('status', 'attached'), { type: 'boolean' }),
    ageColumn,
  ],
  'roles.rbac.authorization.k8s.io': roleColumns,
  'clusterroles.rbac.authorization.k8s.io': roleColumns,
  'rolebindings.rbac.authorization.k8s.io': bindingColumns,
  'clusterrolebindings.rbac.authorization.k8s.io': bindingColumns,
  'customresourcedefinitions.apiextensions.k8s.io': roleColumns,
};
