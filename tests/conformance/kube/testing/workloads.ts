import { afterAll, beforeAll, describe } from 'vitest';

import { autoscalerTests } from './autoscalers.js';
import { controllerTests } from './controllers.js';
import { cronJobTests } from './cron-jobs.js';
import { instance } from './objects.js';
import { schedulingTests } from './scheduling.js';
import { statefulSetTests } from './stateful-sets.js';
import { staticVolumeTests } from './static-volumes.js';
import { type Context, eventually } from './suite.js';
import { nodes, zones } from './workload-pods.js';

/** The scheduler and the controllers, with our kubelets on three nodes. */
export function workloads(context: Context): void {
  describe('workloads on three nodes', () => {
    beforeAll(async () => {
      const { agent, kube } = context.world();
      for (const [name, zone] of Object.entries(zones))
        agent.boot(instance(name, { labels: { 'topology.kubernetes.io/zone': zone } }));
      await eventually(
        () => kube.list(nodes),
        (list) =>
          list.filter((node) => JSON.stringify(node['status']).includes('KubeletReady')).length ===
          3,
      );
    });
    afterAll(() => undefined);
    schedulingTests(context);
    controllerTests(context);
    cronJobTests(context);
    autoscalerTests(context);
    statefulSetTests(context);
    describe('volumes that were made by hand', () => staticVolumeTests(context));
  });
}
