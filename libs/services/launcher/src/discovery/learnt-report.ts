import { formatResources } from '@dovetail/core-kube-model';
import type { Log, Metrics } from '@dovetail/core-ports';

import type { Learnt } from './learnt-capacity.js';

/** Tells by how much the nodes of a type differ from their plan: as a log line and a metric. */
export function reportLearnt(
  { log, metrics }: { readonly log: Log; readonly metrics: Metrics },
  { instanceType, imageId, difference, nodeName }: Learnt,
): void {
  const { capacity, allocatable } = difference;
  log.info(
    'capacity-learnt',
    `nodes of ${instanceType} with ${imageId} hold another amount than was planned; later plans count with it`,
    {
      instanceType,
      image: imageId,
      node: nodeName,
      capacity: formatResources(capacity),
      allocatable: formatResources(allocatable),
    },
  );
  metrics.set('dovetail_capacity_difference_bytes', allocatable['memory'] ?? 0, {
    instance_type: instanceType,
    image_id: imageId,
  });
}
