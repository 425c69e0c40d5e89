import {
  type Clock,
  type KubeApi,
  type KubeConnection,
  KubeError,
  type Log,
  type Metrics,
} from '@dovetail/core-ports';

/** The means to tell of failed calls to the Kubernetes API. */
export type KubeFailuresDeps = {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
};
/** The Kubernetes API of a service, and whether it has ever let this process in. */
export type NamedKube = KubeApi & KubeConnection;

const failures = {
  denied: {
    event: 'kubernetes-denied',
    remedy: "check the kubeconfig's credentials and the service's rights; trying again",
  },
  unavailable: { event: 'kubernetes-unreachable', remedy: 'waiting for it' },
} as const;

/** A lasting cause is counted at every failure, and logged at most this often. */
const sayAgainMs = 15_000;

/**
 * Counts the calls to the Kubernetes API. Logs and counts each cause that keeps a service from it,
 * whichever call fails.
 * The caller still gets the error. Watches are left out because they retry by themselves, and every
 * replica asks for the Lease all the time.
 */
export function namedFailures(kube: KubeApi, { log, metrics, clock }: KubeFailuresDeps): NamedKube {
  const saidMs = new Map<string, number>();
  let answered = false;
  const failed = (error: unknown): void => {
    if (!(error instanceof KubeError) || (error.code !== 'denied' && error.code !== 'unavailable'))
      return;
    const { event, remedy } = failures[error.code];
    metrics.count('dovetail_kubernetes_failures_total', { reason: event });
    const nowMs = clock.nowMs();
    if (nowMs - (saidMs.get(event) ?? -Infinity) < sayAgainMs) return;
    saidMs.set(event, nowMs);
    log.warn(event, `${error.message}; ${remedy}`);
  };
  const told = async <T>(call: string, answer: Promise<T>): Promise<T> => {
    metrics.count('dovetail_kubernetes_calls_total', { call });
    try {
      const value = await answer;
      answered = true;
      return value;
    } catch (error) {
      failed(error);
      throw error;
    }
  };
  return {
    answered: () => answered,
    watch: (options, stop) => kube.watch(options, stop),
    list: (...args) => told('list', kube.list(...args)),
    get: (...args) => told('get', kube.get(...args)),
    create: (...args) => told('create', kube.create(...args)),
    replace: (...args) => told('replace', kube.replace(...args)),
    patch: (...args) => told('patch', kube.patch(...args)),
    delete: (...args) => told('delete', kube.delete(...args)),
    evict: (...args) => told('evict', kube.evict(...args)),
    bind: (...args) => told('bind', kube.bind(...args)),
    serves: (...args) => told('serves', kube.serves(...args)),
    serverVersion: () => told('serverVersion', kube.serverVersion()),
  };
}
