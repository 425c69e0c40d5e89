import { lookUp } from '@dovetail/core-invariant';
import type { EventSubject, KubeEvent } from '@dovetail/core-kube-model';
import {
  type Clock,
  type KubeApi,
  kubeResources,
  type Log,
  type LogFields,
  type StopSignal,
} from '@dovetail/core-ports';

/**
 * Causes that keep a service from its work and are no Kubernetes object's fault. Each maps the name
 * of its log line to the reason of the Event about the service's Lease.
 */
export const causeEvents: Readonly<Record<string, string>> = {
  'nats-unreachable': 'NATSUnreachable',
  'nats-denied': 'NATSDenied',
  'nats-disconnected': 'NATSDisconnected',
  'nats-server-too-old': 'NATSServerTooOld',
  'resource-not-served': 'ResourceNotServed',
  'discovery-failed': 'DiscoveryFailed',
  'plan-malformed': 'MessageMalformed',
  'message-malformed': 'MessageMalformed',
  'interruption-malformed': 'MessageMalformed',
};

/** The Lease that Events are written about, and the means to write them. */
export type CauseEventsOptions = {
  readonly kube: Pick<KubeApi, 'get'>;
  readonly clock: Clock;
  readonly stop: StopSignal;
  readonly namespace: string;
  /** The name of the service's Lease. */
  readonly lease: string;
  /** Records an Event. The recorder decides about repeats, and nothing waits for it. */
  readonly record: (event: KubeEvent) => void;
};

const retryMs = 1_000;
/** At the start the Lease has no UID yet. After a minute the Event names it without one. */
const attemptsMax = 60;

/**
 * Returns a log that also records an Event for a warning or an error with one of these causes.
 * Nothing waits for these Events.
 */
export function tellingCauses(log: Log, options: CauseEventsOptions): Log {
  let looking: Promise<EventSubject> | undefined;
  const tell = (name: string, message: string): void => {
    const reason = lookUp(causeEvents, name);
    if (reason === undefined) return;
    looking ??= subjectOf(options).finally(() => (looking = undefined));
    void looking.then((about) => options.record({ about, type: 'Warning', reason, message }));
  };
  return {
    debug: (...line) => log.debug(...line),
    info: (...line) => log.info(...line),
    warn: (name: string, message: string, fields?: LogFields) => {
      log.warn(name, message, fields);
      tell(name, message);
    },
    error: (name: string, message: string, fields?: LogFields) => {
      log.error(name, message, fields);
      tell(name, message);
    },
  };
}

/** The Lease with its UID, as soon as it is there and the API server answers. */
async function subjectOf(options: CauseEventsOptions): Promise<EventSubject> {
  const { kube, clock, stop, namespace, lease: name } = options;
  const about = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', name, namespace };
  for (let attempt = 1; !stop.aborted; attempt += 1) {
    const lease = await kube
      .get({ resource: kubeResources.leases, namespace, name })
      .catch(() => undefined);
    const uid = lease?.metadata.uid;
    if (uid !== undefined) return { ...about, uid };
    if (attempt === attemptsMax) break;
    await clock.sleep(retryMs, stop);
  }
  return about;
}
