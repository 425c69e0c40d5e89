import { kubeResources } from '@dovetail/core-ports';

import type { Ports, Sabotage, ServiceName } from '../services.js';

/** The ports of one service with some calls changed. */
const spoilt =
  (service: ServiceName, change: (ports: Ports) => { cloud?: object; kube?: object }): Sabotage =>
  (name, ports) => {
    if (name !== service) return ports;
    const { cloud = {}, kube = {} } = change(ports);
    return { ...ports, cloud: { ...ports.cloud, ...cloud }, kube: { ...ports.kube, ...kube } };
  };

/** Mistakes that services of this field have made, by what goes wrong. */
export const plantedBugs: Readonly<Record<string, Sabotage>> = {
  'a launch is sent twice, under another token': spoilt('launcher', ({ cloud }) => ({
    cloud: {
      async createFleet(request: Parameters<typeof cloud.createFleet>[0]) {
        await cloud.createFleet({
          ...request,
          clientToken: `2-${request.clientToken}`.slice(0, 64),
        });
        return cloud.createFleet(request);
      },
    },
  })),
  'each end takes another instance with it': spoilt('reaper', ({ cloud }) => ({
    cloud: {
      async terminate(ids: readonly string[]) {
        const all = await cloud.instancesByTag([]);
        const other = all.find(({ id, state }) => state === 'running' && !ids.includes(id));
        return cloud.terminate(other === undefined ? ids : [...ids, other.id]);
      },
    },
  })),
  'a drain deletes pods where it should evict': spoilt('reaper', ({ kube }) => ({
    kube: {
      async evict({ namespace, name }: { namespace: string; name: string }) {
        await kube.delete({ resource: kubeResources.pods, namespace, name });
        return 'evicted';
      },
    },
  })),
  'the reaper ends no instance and believes that none is left': spoilt('reaper', ({ cloud }) => ({
    cloud: {
      // Says that every instance is gone already.
      instancesById: () => Promise.resolve([]),
      terminate: () => Promise.resolve([]),
      instancesByTag: () => cloud.instancesByTag([]).then(() => []),
    },
  })),
};
