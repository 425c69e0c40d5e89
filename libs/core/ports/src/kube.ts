import type { StopSignal } from './clock.js';

/** A Kubernetes resource type, as paths need it. */
export type KubeResource = {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
};

/** A Kubernetes object as it came: parsed JSON, believed in nothing until a parser has read it. */
export type KubeObject = {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: KubeMetadata;
  readonly [field: string]: unknown;
};

export type KubeMetadata = {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly { apiVersion: string; kind: string; name: string; uid: string; controller?: boolean; blockOwnerDeletion?: boolean }[];
};

export type KubeErrorCode = 'not-found' | 'conflict' | 'already-exists' | 'invalid' | 'denied' | 'too-many-requests' | 'gone' | 'unavailable' | 'no-such-resource';

export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly code: KubeErrorCode;
  /** The API's own reason and message, and seconds to wait when it named them. */
  readonly retryAfterSeconds?: number;
  constructor(code: KubeErrorCode, message: string, options?: { cause?: unknown; retryAfterSeconds?: number }) {
    super(message, options);
    this.code = code;
    if (options?.retryAfterSeconds !== undefined) this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** What a watch sees. `synced` follows the first complete list and every relist; until then absence proves nothing. */
export type WatchEvent<T> =
  | { readonly kind: 'set'; readonly value: T }
  | { readonly kind: 'gone'; readonly uid: string; readonly name: string; readonly namespace?: string }
  | { readonly kind: 'synced' };

export type Patch =
  | { readonly type: 'merge'; readonly body: unknown }
  | { readonly type: 'json'; readonly body: readonly { op: 'add' | 'remove' | 'replace' | 'test'; path: string; value?: unknown }[] };

export type ObjectRef = { readonly resource: KubeResource; readonly name: string; readonly namespace?: string };

/**
 * The Kubernetes API. Every call may reject with KubeError; `unavailable`, `too-many-requests` and `conflict` (after
 * reading again) are worth another try.
 */
export interface KubeApi {
  /** Lists page by page and watches, for as long as `stop` allows; reconnects, relists on `gone`, and projects each object as it streams. */
  watch<T>(options: { resource: KubeResource; project: (object: KubeObject) => T; fieldSelector?: string; labelSelector?: string }, stop: StopSignal): AsyncIterable<WatchEvent<T>>;
  list(resource: KubeResource, options?: { namespace?: string; fieldSelector?: string; labelSelector?: string }): Promise<readonly KubeObject[]>;
  /** Undefined when there is none. */
  get(ref: ObjectRef): Promise<KubeObject | undefined>;
  create(resource: KubeResource, object: KubeObject): Promise<KubeObject>;
  /** Guarded by the object's resourceVersion: `conflict` when it has moved on. */
  replace(resource: KubeResource, object: KubeObject, options?: { subresource?: 'status' }): Promise<KubeObject>;
  /** A merge patch whose body carries metadata.resourceVersion is guarded by it. */
  patch(ref: ObjectRef, patch: Patch, options?: { subresource?: 'status' }): Promise<KubeObject>;
  /** Succeeds when the object is already gone, or another of the same name has taken its place (`uid`). */
  delete(ref: ObjectRef, options?: { uid?: string; gracePeriodSeconds?: number; propagation?: 'Background' | 'Foreground' | 'Orphan' }): Promise<void>;
  /** The Eviction subresource. `too-many-requests`: a disruption budget forbids it now. */
  evict(pod: { namespace: string; name: string; uid: string; gracePeriodSeconds?: number }): Promise<'evicted' | 'gone'>;
  /** The Binding subresource. `conflict` when the pod is bound already or is another pod. */
  bind(pod: { namespace: string; name: string; uid: string }, nodeName: string): Promise<void>;
  /** Whether the API serves this resource (its CRD is installed). */
  serves(resource: KubeResource): Promise<boolean>;
  serverVersion(): Promise<{ readonly major: number; readonly minor: number }>;
}
