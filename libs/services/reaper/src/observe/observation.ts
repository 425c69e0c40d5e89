import type { StopSignal } from '@dovetail/core-ports';

import type { ReaperContext } from '../context.js';
import { nodeSamples } from './node-samples.js';
import { podSamples } from './pod-samples.js';
import { PodTimes } from './pod-times.js';

/**
 * Shows the state of nodes and pods as Karpenter's metrics do, until `stop` is aborted. Only the
 * leader shows it: sums over replicas would count everything twice.
 */
export function observe(
  { deps, cluster, config }: Pick<ReaperContext, 'deps' | 'cluster' | 'config'>,
  stop: StopSignal,
): void {
  if (!config.observesClusterState || stop.aborted) return;
  const { clock, metrics, scraped } = deps;
  const nowMs = (): number => clock.nowMs();
  const times = new PodTimes({ clock, metrics, cluster });
  const samples = {
    ...nodeSamples(cluster, nowMs),
    ...podSamples(cluster, times.unstarted, nowMs),
  };
  const ends = [
    times.begin(),
    ...Object.entries(samples).map(([name, source]) => scraped.show(name, source)),
  ];
  const end = (): void => {
    for (const each of ends) each();
  };
  stop.addEventListener('abort', end, { once: true });
}
