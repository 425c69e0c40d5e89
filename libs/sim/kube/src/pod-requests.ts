import type { Amounts } from './quantity.js';
import { addAmounts, amountsOf, maxAmounts } from './quantity.js';
import type { ContainerSpec, Pod, PodSpecView } from './model.js';

const requestsOf = (container: ContainerSpec): Amounts => amountsOf(container.resources?.requests);

/**
 * What the scheduler reserves for a pod (Kubernetes' PodRequests): containers together with restartable init containers,
 * or the most that any init container needs beside the sidecars started before it; pod-level requests replace these;
 * overhead comes on top. Thousandths of a unit.
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
