import { type Clock, type KubeApi, KubeError, kubeResources, type Log, type LogFields, type StopSignal } from '@dovetail/core-ports';

/** What keeps a service from its work and is no Kubernetes object's fault: the name of its log line, and the reason of the Event about the service's Lease. */
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

export type CauseEventsOptions = { readonly kube: KubeApi; readonly clock: Clock; readonly stop: StopSignal; readonly namespace: string; readonly lease: string; readonly service: string };

/** An Event of one reason is not written again sooner (as of the other Events). */
const repeatMs = 120_000;
const retryMs = 1_000;
/** A cause at the start comes before the Lease, which names the object by its UID; without one by then, the name has to do. */
const attemptsMax = 60;

/** A log that also writes an Event for each of these causes. Events are for people: nothing waits for them, and what cannot be written is left out. */
export function tellingCauses(log: Log, options: CauseEventsOptions): Log {
  const toldMs = new Map<string, number>();
  const tell = (name: string, message: string): void => {
    const reason = causeEvents[name];
    const nowMs = options.clock.nowMs();
    if (reason === undefined || nowMs - (toldMs.get(reason) ?? -Infinity) < repeatMs) return;
    toldMs.set(reason, nowMs);
    void write(options, { reason, message, nowMs }).catch((error: unknown) => log.debug('event-not-written', `the Event ${reason} could not be written: ${String(error)}`, { reason }));
  };
  return {
    debug: (...line) => log.debug(...line),
    info: (...line) => log.info(...line),
    warn: (name: string, message: string, fields?: LogFields) => { log.warn(name, message, fields); tell(name, message); },
    error: (name: string, message: string, fields?: LogFields) => { log.error(name, message, fields); tell(name, message); },
  };
}

type Cause = { readonly reason: string; readonly message: string; readonly nowMs: number };

async function write(options: CauseEventsOptions, cause: Cause): Promise<void> {
  const { kube, clock, stop, namespace, lease: name } = options;
  for (let attempt = 1; !stop.aborted; attempt += 1) {
    try {
      const lease = await kube.get({ resource: kubeResources.leases, namespace, name });
      if (lease !== undefined || attempt === attemptsMax) {
        await kube.create(kubeResources.events, eventObject(options, cause, lease?.metadata.uid));
        return;
      }
    } catch (error) {
      if (error instanceof KubeError && error.code === 'already-exists') return;
      if (attempt >= attemptsMax) throw error;
    }
    await clock.sleep(retryMs, stop);
  }
}

function eventObject({ namespace, lease, service }: CauseEventsOptions, { reason, message, nowMs }: Cause, uid: string | undefined): Parameters<KubeApi['create']>[1] {
  const second = `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
  const component = `dovetail-${service}`;
  return {
    apiVersion: 'v1', kind: 'Event', metadata: { name: `${lease}.${reason.toLowerCase()}.${nowMs.toString(16)}`, namespace },
    involvedObject: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', name: lease, namespace, ...(uid === undefined ? {} : { uid }) },
    type: 'Warning', reason, message: message.slice(0, 1024), source: { component }, reportingComponent: component, reportingInstance: '',
    firstTimestamp: second, lastTimestamp: second, count: 1,
  };
}
