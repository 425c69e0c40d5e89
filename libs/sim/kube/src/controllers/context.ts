import type { Change } from '../store/table.js';
import { controllerOf, type OwnerReference, type Pod, type PodTemplate, type Stored } from '../model.js';
import type { ResourceType } from '../store/registry.js';
import type { KubeStore } from '../store/store.js';
import type { EventRecorder } from './events.js';
import type { ObjectIndex } from './object-index.js';

/** What the controllers share. */
export type ControllerContext = {
  readonly store: KubeStore;
  readonly recorder: EventRecorder;
  /** Pods by the uid of the object that controls them. */
  readonly podsByOwner: ObjectIndex;
  /** Pods by node name. */
  readonly podsByNode: ObjectIndex;
  readonly onError: (controller: string, key: string, error: unknown) => void;
};

/** One controller: hears of every change, and is stopped with the others. */
export type Controller = { readonly heard: (change: Change) => void; readonly stop: () => void };

export const podsType = (store: KubeStore): ResourceType => store.type('', 'v1', 'pods');

/** The owner reference that makes `owner` the controller of what it makes. */
export const ownedBy = (owner: Stored): OwnerReference => ({ apiVersion: owner.apiVersion, kind: owner.kind, name: owner.metadata.name, uid: owner.metadata.uid, controller: true, blockOwnerDeletion: true });

/** The uid of the controlling owner of a pod, when it is of that kind. */
export function ownerUid(object: Stored, kind: string): string | undefined {
  const owner = controllerOf(object);
  return owner?.kind === kind ? owner.uid : undefined;
}

/** What is said of a pod that was made or deleted; the controller of StatefulSets has words of its own. */
const doneText = (owner: Stored, deed: 'create' | 'delete', podName: string): string =>
  owner.kind === 'StatefulSet' ? `${deed} Pod ${podName} in StatefulSet ${owner.metadata.name} successful` : `${deed === 'create' ? 'Created' : 'Deleted'} pod: ${podName}`;

const failedText = (owner: Stored, podName: string | undefined, why: string): string =>
  owner.kind === 'StatefulSet' ? `create Pod ${podName ?? ''} in StatefulSet ${owner.metadata.name} failed error: ${why}` : `Error creating: ${why}`;

/** Makes a pod from a template, and says so, or why not, in an Event on the owner. */
export function createPod(context: ControllerContext, owner: Stored, template: PodTemplate, changes: { readonly name?: string; readonly labels?: Readonly<Record<string, string>>; readonly spec?: object; readonly component: string }): Pod {
  const { store, recorder } = context;
  const labels = { ...template.metadata?.labels, ...changes.labels };
  const naming = changes.name === undefined ? { generateName: `${owner.metadata.name}-` } : { name: changes.name };
  const annotations = template.metadata?.annotations === undefined ? {} : { annotations: template.metadata.annotations };
  try {
    const made = store.create(podsType(store), {
      namespace: owner.metadata.namespace,
      object: { metadata: { ...naming, labels, ...annotations, ownerReferences: [ownedBy(owner)] }, spec: { ...template.spec, ...changes.spec } },
    }) as Pod;
    recorder.record(owner, { type: 'Normal', reason: 'SuccessfulCreate', message: doneText(owner, 'create', made.metadata.name), component: changes.component });
    return made;
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    recorder.record(owner, { type: 'Warning', reason: 'FailedCreate', message: failedText(owner, changes.name, why), component: changes.component });
    throw thrown;
  }
}

/** Deletes a pod for its owner, and says so. */
export function deletePod(context: ControllerContext, owner: Stored, pod: Pod, component: string): void {
  context.store.delete(podsType(context.store), pod.metadata, { uid: pod.metadata.uid });
  context.recorder.record(owner, { type: 'Normal', reason: 'SuccessfulDelete', message: doneText(owner, 'delete', pod.metadata.name), component });
}

/** Writes the status unless it is what it was. */
export function writeStatus(store: KubeStore, type: ResourceType, object: Stored, status: object): void {
  store.update(type, { namespace: object.metadata.namespace, name: object.metadata.name, object: { ...object, status } }, { subresource: 'status' });
}
