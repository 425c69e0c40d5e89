import type { StopSignal } from './clock.js';

/** A Kubernetes resource type, with the parts of its API path. */
export type KubeResource = {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
};

/**
 * A Kubernetes object as parsed JSON. Only its metadata may be relied on until a parser has read
 * it.
 */
export type KubeObject = {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: KubeMetadata;
  readonly [field: string]: unknown;
};

/** The metadata of a Kubernetes object (ObjectMeta). */
type KubeMetadata = {
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
  readonly ownerReferences?: readonly {
    apiVersion: string;
    kind: string;
    name: string;
    uid: string;
    controller?: boolean;
    blockOwnerDeletion?: boolean;
  }[];
};

/** The kinds of a KubeError. `gone`: a watch must list again. */
export type KubeErrorCode =
  | 'not-found'
  | 'conflict'
  | 'already-exists'
  | 'invalid'
  | 'denied'
  | 'too-many-requests'
  | 'gone'
  | 'unavailable'
  | 'no-such-resource';

/** A call of the Kubernetes API failed. The message is the API's own. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly code: KubeErrorCode;
  /** Seconds to wait, when the API named them (Retry-After). */
  readonly retryAfterSeconds?: number;
  constructor(
    code: KubeErrorCode,
    message: string,
    options?: { cause?: unknown; retryAfterSeconds?: number },
  ) {
    super(message, options);
    this.code = code;
    if (options?.retryAfterSeconds !== undefined)
      this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/**
 * An event of a watch. `synced` follows every complete list; until the first one, absence proves
 * nothing. `restored` comes before a list of a server whose versions have gone back, as after a
 * restore of etcd: what was read before may be newer than what is true now.
 */
export type WatchEvent<T> =
  | { readonly kind: 'set'; readonly value: T }
  | {
      readonly kind: 'gone';
      readonly uid: string;
      readonly name: string;
      readonly namespace?: string;
    }
  | { readonly kind: 'synced' }
  | { readonly kind: 'restored' };

/**
 * Whether a watch sees what changes. `lost` comes at each failure with what failed: from then on,
 * what was read may be old. `following` comes once the watch is open again; the changes in between
 * are its next events.
 */
export type WatchReach =
  { readonly kind: 'lost'; readonly error: unknown } | { readonly kind: 'following' };

/** A merge patch (RFC 7386) or a JSON patch (RFC 6902). */
export type Patch =
  | { readonly type: 'merge'; readonly body: unknown }
  | {
      readonly type: 'json';
      readonly body: readonly {
        op: 'add' | 'remove' | 'replace' | 'test';
        path: string;
        value?: unknown;
      }[];
    };

/** Names one object. */
export type ObjectRef = {
  readonly resource: KubeResource;
  readonly name: string;
  readonly namespace?: string;
};

/**
 * Watches resources. Every call of the Kubernetes ports may reject with KubeError; `unavailable`,
 * `too-many-requests` and `conflict` (after reading again) are worth another try.
 */
export interface KubeWatches {
  /**
   * Lists page by page, then watches, for as long as `stop` allows. Reconnects, lists again on
   * `gone`, and projects each object as it streams.
   */
  watch<T>(
    options: {
      resource: KubeResource;
      project: (object: KubeObject) => T;
      fieldSelector?: string;
      labelSelector?: string;
      /** Told of each failure, and of each time that the watch is open. */
      reach?: (reach: WatchReach) => void;
    },
    stop: StopSignal,
  ): AsyncIterable<WatchEvent<T>>;
}

/** Reads objects. */
export interface KubeReads {
  list(
    resource: KubeResource,
    options?: { namespace?: string; fieldSelector?: string; labelSelector?: string },
  ): Promise<readonly KubeObject[]>;
  /** Undefined when there is none. */
  get(ref: ObjectRef): Promise<KubeObject | undefined>;
}

/** Creates objects. Enough for Events. */
export interface KubeCreates {
  create(resource: KubeResource, object: KubeObject): Promise<KubeObject>;
}

/** Patches objects. */
export interface KubePatches {
  /** A merge patch whose body carries metadata.resourceVersion is guarded by it. */
  patch(ref: ObjectRef, patch: Patch, options?: { subresource?: 'status' }): Promise<KubeObject>;
}

/** Replaces whole objects. */
export interface KubeReplaces {
  /** Guarded by the object's resourceVersion: `conflict` when it has moved on. */
  replace(
    resource: KubeResource,
    object: KubeObject,
    options?: { subresource?: 'status' },
  ): Promise<KubeObject>;
}

/** Deletes objects. */
export interface KubeDeletes {
  /**
   * Succeeds when the object is already gone, or another of the same name has taken its place
   * (`uid`).
   */
  delete(
    ref: ObjectRef,
    options?: {
      uid?: string;
      gracePeriodSeconds?: number;
      propagation?: 'Background' | 'Foreground' | 'Orphan';
    },
  ): Promise<void>;
}

/** Every write of plain objects. */
export type KubeWrites = KubeCreates & KubePatches & KubeReplaces & KubeDeletes;

/** The Eviction subresource of pods. */
export interface PodEvictions {
  /** Rejects with `too-many-requests` when a disruption budget forbids it now. */
  evict(pod: {
    namespace: string;
    name: string;
    uid: string;
    gracePeriodSeconds?: number;
  }): Promise<'evicted' | 'gone'>;
}

/** The Binding subresource of pods. */
export interface PodBindings {
  /** Rejects with `conflict` when the pod is bound already or is another pod. */
  bind(pod: { namespace: string; name: string; uid: string }, nodeName: string): Promise<void>;
}

/** The version of the API server and the resources that it serves. */
export interface KubeDiscovery {
  /** Whether the API serves this resource (its CRD is installed). */
  serves(resource: KubeResource): Promise<boolean>;
  serverVersion(): Promise<{ readonly major: number; readonly minor: number }>;
}

/** The connection to the Kubernetes API. */
export interface KubeConnection {
  /** Whether the API has ever answered this process, for readiness. */
  answered(): boolean;
}

/** The API server's clock beside that of this process. Ages of objects are by the server's. */
export interface ServerClock {
  /**
   * Milliseconds by which this process' clock is ahead of the server's for certain; negative if it
   * is behind, 0 if no difference shows. Undefined until the server has answered. The time of day
   * that a test may move does not count.
   */
  aheadMs(): number | undefined;
}

/**
 * All of the Kubernetes ports in one object. Adapters, twins and tests provide it; a service asks
 * only for the ports that it uses.
 */
export type KubeApi = KubeWatches &
  KubeReads &
  KubeWrites &
  PodEvictions &
  PodBindings &
  KubeDiscovery;
