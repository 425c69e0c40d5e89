import type { ContainerSpec, Pod, PodSpecView } from './objects.js';
import type { Amounts } from './quantity.js';
import { addAmounts, amountsOf, maxAmounts } from './quantity.js';

type Bound = 'requests' | 'limits';

/** The most that a pod's containers ask for at once, or may use at once. */
function most(spec: PodSpecView, bound: Bound): Amounts {
  const amounts = (container: ContainerSpec): Amounts => amountsOf(container.resources?.[bound]);
  let running: Amounts = {};
  for (const container of spec.containers) running = addAmounts(running, amounts(container));
  let sidecars: Amounts = {};
  let initial: Amounts = {};
  for (const container of spec.initContainers ?? []) {
    if (container.restartPolicy === 'Always') {
      sidecars = addAmounts(sidecars, amounts(container));
      initial = maxAmounts(initial, sidecars);
    } else {
      initial = maxAmounts(initial, addAmounts(amounts(container), sidecars));
    }
  }
  const containers = maxAmounts(addAmounts(running, sidecars), initial);
  return { ...containers, ...amountsOf(spec.resources?.[bound]) };
}

/**
 * The resources that the scheduler reserves for a pod, in thousandths (Kubernetes' PodRequests).
 * The containers together with the sidecars count, or an init container together with the sidecars
 * before it, if that is more. Requests of the pod replace these, and overhead is added.
 */
export const specRequests = (spec: PodSpecView): Amounts =>
  addAmounts(most(spec, 'requests'), amountsOf(spec.overhead));

/**
 * The most that a pod may use, in thousandths, by the rules of its requests (Kubernetes'
 * PodLimits). Overhead is added to resources that have a limit.
 */
export function podLimits({ spec }: Pod): Amounts {
  const limits = most(spec, 'limits');
  const overhead = Object.entries(amountsOf(spec.overhead));
  return addAmounts(
    limits,
    Object.fromEntries(overhead.filter(([name]) => Object.hasOwn(limits, name))),
  );
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
