import { type KubeEvent, kubeEventObject } from '@dovetail/core-kube-model';
import {
  type Clock,
  type KubeApi,
  KubeError,
  kubeResources,
  type Log,
  type LogFields,
  messageOf,
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
  readonly kube: Pick<KubeApi, 'get' | 'create'>;
  readonly clock: Clock;
  readonly stop: StopSignal;
  readonly namespace: string;
  /** The name of the service's Lease. */
  readonly lease: string;
  /** The service's short name: Events come from `dovetail-<service>`. */
  readonly service: string;
};

/** An Event of one reason is not repeated sooner (Karpenter's time, as for all our Events). */
const repeatMs = 120_000;
const retryMs = 1_000;
/** At the start the Lease has no UID yet. After a minute the Event names it without one. */
const attemptsMax = 60;

/**
 * Returns a log that also writes an Event for a warning or an error with one of these causes.
 * Nothing waits for these Events, and one that fails is dropped.
 */
export function tellingCauses(log: Log, options: CauseEventsOptions): Log {
  const toldMs = new Map<string, number>();
  const tell = (name: string, message: string): void => {
    const reason = causeEvents[name];
    const nowMs = options.clock.nowMs();
    if (reason === undefined || nowMs - (toldMs.get(reason) ?? -Infinity) < repeatMs) return;
    toldMs.set(reason, nowMs);
    void write(options, { reason, message, nowMs }).catch((error: unknown) =>
      log.debug('event-not-written', `the Event ${reason} was not written: ${messageOf(error)}`, {
        reason,
      }),
    );
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

type Cause = { readonly reason: string; readonly message: string; readonly nowMs: number };

async function write(options: CauseEventsOptions, cause: Cause): Promise<void> {
  const { kube, clock, stop, namespace, lease: name } = options;
  for (let attempt = 1; !stop.aborted; attempt += 1) {
    try {
      const lease = await kube.get({ resource: kubeResources.leases, namespace, name });
      if (lease !== undefined || attempt === attemptsMax) {
        await kube.create(kubeResources.events, eventOf(options, cause, lease?.metadata.uid));
        return;
      }
    } catch (error) {
      if (error instanceof KubeError && error.code === 'already-exists') return;
      if (attempt >= attemptsMax) throw error;
    }
    await clock.sleep(retryMs, stop);
  }
}

function eventOf(
  { namespace, lease, service }: CauseEventsOptions,
  { reason, message, nowMs }: Cause,
  uid: string | undefined,
) {
  const about: KubeEvent['about'] = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    name: lease,
    namespace,
    ...(uid === undefined ? {} : { uid }),
  };
  return kubeEventObject(
    { about, type: 'Warning', reason, message },
    {
      name: `${lease}.${reason.toLowerCase()}.${nowMs.toString(16)}`,
      component: `dovetail-${service}`,
      atMs: nowMs,
    },
  );
}
