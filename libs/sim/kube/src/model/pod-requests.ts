import type { ContainerSpec, Pod, PodSpecView } from './objects.js';
import type { Amounts } from './quantity.js';
import { addAmounts, amountsOf, maxAmounts } from './quantity.js';

const requestsOf = (container: ContainerSpec): Amounts => amountsOf(container.resources?.requests);

/**
 * The resources that the scheduler reserves for a pod, in thousandths (Kubernetes' PodRequests).
 * The containers together with the sidecars count, or an init container together with the sidecars
 * before it, if that is more. Requests of the pod replace these, and overhead is added.
 */
export function specRequests(spec: PodSpecView): Amounts {
  let running: Amounts = {};
  for (const container of spec.containers) running = addAmounts(running, requestsOf(container));
  let sidecars: Amounts = {};
  let initial: Amounts = {};
  for (const container of spec.initContainers ?? []) {
    if (container.restartPolicy === 'Always') {
      sidecars = addAmounts(sidecars, requestsOf(container));
      initial = maxAmounts(initial, sidecars);
    } else {
      initial = maxAmounts(initial, addAmounts(requestsOf(container), sidecars));
    }
  }
  const containers = maxAmounts(addAmounts(running, sidecars), initial);
  const podLevel = { ...containers, ...amountsOf(spec.resources?.requests) };
  return addAmounts(podLevel, amountsOf(spec.overhead));
}

const known = new WeakMap<PodSpecView, Amounts>();

/** specRequests, remembered per spec: specs are never changed in place. */
export function podRequests(pod: Pod): Amounts {
  const before = known.get(pod.spec);
  if (before !== undefined) return before;
  const requests = specRequests(pod.spec);
  known.set(pod.spec, requests);
  return requests;
}
