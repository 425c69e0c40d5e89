import { matchingVolume, recordOf } from '@dovetail/core-kube-model';

import { textOf } from '../model/json.js';
import type { StoredObject } from '../model/objects.js';
import { reserve, volumesFor, wantedBy } from '../scheduler/static-volumes.js';
import { keyOf } from '../store/table.js';
import type { ControllerContext } from './context.js';

/**
 * The volume that the controller is to bind a claim to. While a claim waits for its first consumer,
 * only the scheduler chooses: a volume that it has kept for the claim, or that the claim names,
 * counts.
 */
export function volumeToBind(
  { store }: ControllerContext,
  claim: StoredObject,
  { waits }: { readonly waits: boolean },
): StoredObject | undefined {
  const { uid } = claim.metadata;
  const wanted = wantedBy(store, claim);
  if (wanted === undefined) return undefined;
  const free = volumesFor(store, wanted, uid).filter(
    ({ reservedFor }) => !waits || wanted.volumeName !== '' || reservedFor !== undefined,
  );
  return matchingVolume(wanted, free, uid)?.object;
}

const claimUidOf = (volume: StoredObject): string =>
  textOf(recordOf(recordOf(volume['spec'])['claimRef'])['uid']);

/** Writes the binding: into the volume, into the claim, and then into the status of the claim. */
export function bind(
  context: ControllerContext,
  claim: StoredObject,
  volume: StoredObject,
  spec: object = {},
): void {
  const { store } = context;
  const claims = store.type('', 'v1', 'persistentvolumeclaims');
  if (claimUidOf(volume) !== claim.metadata.uid) reserve(store, volume, claim);
  setPhase(context, volume.metadata.name, 'Bound');
  const isNamed = textOf(recordOf(claim['spec'])['volumeName']) !== '';
  const annotations = {
    'pv.kubernetes.io/bind-completed': 'yes',
    ...(isNamed ? {} : { 'pv.kubernetes.io/bound-by-controller': 'yes' }),
  };
  store.patch(claims, {
    ...claim.metadata,
    patch: {
      type: 'merge',
      body: { metadata: { annotations }, spec: { volumeName: volume.metadata.name, ...spec } },
    },
  });
  const { accessModes, capacity } = recordOf(volume['spec']);
  store.patch(
    claims,
    {
      ...claim.metadata,
      patch: { type: 'merge', body: { status: { phase: 'Bound', accessModes, capacity } } },
    },
    { subresource: 'status' },
  );
}

type Phase = 'Available' | 'Bound' | 'Released';

function setPhase({ store }: ControllerContext, name: string, phase: Phase): void {
  const volumes = store.type('', 'v1', 'persistentvolumes');
  const found = store.state.table('persistentvolumes').get(name);
  if (found === undefined || recordOf(found['status'])['phase'] === phase) return;
  store.patch(
    volumes,
    { name, patch: { type: 'merge', body: { status: { phase } } } },
    { subresource: 'status' },
  );
}

/** Brings the phase of a volume up to date that no claim is being bound to. */
export function settleVolume(context: ControllerContext, name: string): void {
  const { state } = context.store;
  const volume = state.table('persistentvolumes').get(name);
  if (volume === undefined) return;
  const uid = claimUidOf(volume);
  if (uid === '') return setPhase(context, name, 'Available');
  const { namespace, name: claimName } = recordOf(recordOf(volume['spec'])['claimRef']);
  const claim = state
    .table('persistentvolumeclaims')
    .get(keyOf(textOf(namespace), textOf(claimName)));
  if (claim?.metadata.uid !== uid) setPhase(context, name, 'Released');
}
