import { plainText } from './plain-text.js';

/**
 * The object that an Event is about. Events of cluster-scoped objects live in namespace `default`.
 */
export type EventSubject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string;
  /** Absent only when the object does not exist yet and its name has to do. */
  readonly uid?: string;
};

/** An Event to write, for the readers of `kubectl describe`. */
export type KubeEvent = {
  readonly about: EventSubject;
  readonly type: 'Normal' | 'Warning';
  /** CamelCase, stable: people filter by it. */
  readonly reason: string;
  /** A sentence. Kubernetes refuses more than 1,024 characters, so longer ones are cut. */
  readonly message: string;
};

/** Kubernetes' limit on `message` of an Event. */
const messageMax = 1_024;
/** Kubernetes allows 253 characters in a name; the dot and the suffix of 16 take the rest. */
const subjectNameMax = 236;

/** The name of an Event: the name of its object, cut, and a suffix of at most 16 characters. */
export const eventName = (about: Pick<EventSubject, 'name'>, suffix: string): string =>
  `${about.name.slice(0, subjectNameMax)}.${suffix}`;

/** RFC 3339 in whole seconds, as Kubernetes writes times. */
export const isoSeconds = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** The namespace that an Event about this object is written to. */
export const eventNamespace = (about: Pick<EventSubject, 'namespace'>): string =>
  about.namespace ?? 'default';

/**
 * The Event as the API takes it (core/v1). `component` is the name that `kubectl describe` shows
 * as `From`; `count` tells how often it happened between the first time and now.
 */
export function kubeEventObject(
  event: KubeEvent,
  as: {
    readonly name: string;
    readonly component: string;
    readonly atMs: number;
    readonly count?: number;
  },
) {
  const at = isoSeconds(as.atMs);
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: as.name, namespace: eventNamespace(event.about) },
    involvedObject: event.about,
    type: event.type,
    reason: event.reason,
    message: plainText(event.message).slice(0, messageMax),
    source: { component: as.component },
    reportingComponent: as.component,
    reportingInstance: '',
    firstTimestamp: at,
    lastTimestamp: at,
    count: as.count ?? 1,
  };
}
