import { messageOf } from '@dovetail/core-ports';

import {
  type OwnerReference,
  type Pod,
  type PodTemplate,
  type SentObject,
  type StoredObject,
} from '../model/objects.js';
import type { EventRecorder } from '../store/event-recorder.js';
import type { ResourceType } from '../store/registry.js';
import type { KubeStore } from '../store/store.js';
import type { Change } from '../store/table.js';
import type { ObjectIndex } from './object-index.js';

/** The things that all controllers share. */
export type ControllerContext = {
  readonly store: KubeStore;
  readonly recorder: EventRecorder;
  /** Pods by the uid of the object that controls them. */
  readonly podsByOwner: ObjectIndex;
  /** Pods by node name. */
  readonly podsByNode: ObjectIndex;
  readonly onError: (controller: string, key: string, error: unknown) => void;
};

/** One controller. It hears of every change, and stops with the others. */
export type Controller = { readonly heard: (change: Change) => void; readonly stop: () => void };

/** The resource type of pods. */
export const podsType = (store: KubeStore): ResourceType => store.type('', 'v1', 'pods');

/** The owner reference that makes `owner` the controller of what it makes. */
export const ownedBy = (owner: StoredObject): OwnerReference => ({
  apiVersion: owner.apiVersion,
  kind: owner.kind,
  name: owner.metadata.name,
  uid: owner.metadata.uid,
  controller: true,
  blockOwnerDeletion: true,
});

/**
 * The Event message for a created or deleted pod. The StatefulSet controller words it differently.
 */
const doneText = (owner: StoredObject, deed: 'create' | 'delete', podName: string): string =>
  owner.kind === 'StatefulSet'
    ? `${deed} Pod ${podName} in StatefulSet ${owner.metadata.name} successful`
    : `${deed === 'create' ? 'Created' : 'Deleted'} pod: ${podName}`;

const failedText = (owner: StoredObject, podName: string | undefined, why: string): string =>
  owner.kind === 'StatefulSet'
    ? `create Pod ${podName ?? ''} in StatefulSet ${owner.metadata.name} failed error: ${why}`
    : `Error creating: ${why}`;

/** How a new pod differs from its template. `component` is the controller that Events name. */
export type PodChanges = {
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly component: string;
};

function podFrom(owner: StoredObject, template: PodTemplate, changes: PodChanges): SentObject {
  const { labels, annotations } = template.metadata ?? {};
  return {
    metadata: {
      ...(changes.name === undefined
        ? { generateName: `${owner.metadata.name}-` }
        : { name: changes.name }),
      labels: { ...labels, ...changes.labels },
      ...(annotations === undefined ? {} : { annotations }),
      ownerReferences: [ownedBy(owner)],
    },
    spec: { ...template.spec, ...changes.spec },
  };
}

/**
 * Creates a pod from a template and records an Event on the owner: success, or the reason for the
 * failure. Throws whatever the store threw.
 */
export function createPod(
  context: ControllerContext,
  owner: StoredObject,
  template: PodTemplate,
  changes: PodChanges,
): Pod {
  const { store, recorder } = context;
  const { component } = changes;
  try {
    const made = store.create(podsType(store), {
      namespace: owner.metadata.namespace,
      object: podFrom(owner, template, changes),
    }) as Pod;
    const message = doneText(owner, 'create', made.metadata.name);
    recorder.record(owner, { type: 'Normal', reason: 'SuccessfulCreate', message, component });
    return made;
  } catch (thrown) {
    const why = messageOf(thrown);
    const message = failedText(owner, changes.name, why);
    recorder.record(owner, { type: 'Warning', reason: 'FailedCreate', message, component });
    throw thrown;
  }
}

/** Deletes a pod for its owner and records an Event. */
export function deletePod(
  context: ControllerContext,
  owner: StoredObject,
  pod: Pod,
  component: string,
): void {
  context.store.delete(podsType(context.store), pod.metadata, { uid: pod.metadata.uid });
  context.recorder.record(owner, {
    type: 'Normal',
    reason: 'SuccessfulDelete',
    message: doneText(owner, 'delete', pod.metadata.name),
    component,
  });
}

/** Writes the status unless it is what it was. */
export function writeStatus(
  store: KubeStore,
  type: ResourceType,
  object: StoredObject,
  status: object,
): void {
  store.update(
    type,
    {
      namespace: object.metadata.namespace,
      name: object.metadata.name,
      object: { ...object, status },
    },
    { subresource: 'status' },
  );
}
