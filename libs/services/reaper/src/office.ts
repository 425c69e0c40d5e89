import { kubeWhileLeading, type Office, whileLeading } from '@dovetail/service-kit';

import type { ReaperContext } from './context.js';
import type { ReaperDeps } from './deps.js';
import { Instances } from './outside/instances.js';
import { planRequestsOf } from './outside/plan-requests.js';

type Kube = ReaperDeps['kube'];
type Cloud = ReaperDeps['cloud'];

const kubeOf = (office: Office, kube: Kube): Kube => ({
  ...kubeWhileLeading(office, kube),
  evict: whileLeading(office, (pod) => kube.evict(pod)),
});

const cloudOf = (office: Office, cloud: Cloud): Cloud => ({
  instancesById: (ids) => cloud.instancesById(ids),
  instancesByTag: (filters) => cloud.instancesByTag(filters),
  impairedInstances: () => cloud.impairedInstances(),
  identity: () => cloud.identity(),
  terminate: whileLeading(office, (ids) => cloud.terminate(ids)),
});

/**
 * The context of one epoch. Between any two writes the Lease may be lost, as after a pause of the
 * process: then the successor decides, and no write of this epoch may follow.
 */
export function inOffice(context: ReaperContext, stop: Office['stop']): ReaperContext {
  const { kube, urgentKube, cloud, leadership } = context.deps;
  const office = { leadership, stop };
  const deps = {
    ...context.deps,
    kube: kubeOf(office, kube),
    ...(urgentKube === undefined ? {} : { urgentKube: kubeOf(office, urgentKube) }),
    cloud: cloudOf(office, cloud),
  };
  return {
    ...context,
    deps,
    instances: new Instances(deps, context.config.termination),
    requests: planRequestsOf(deps, context, stop),
  };
}
