import type { Cluster } from '@dovetail/core-cluster';

/** Counts who listens to a cluster from now on. Answers how many do. */
export function listenersOf(cluster: Cluster): () => number {
  let listening = 0;
  const subscribe = cluster.subscribe.bind(cluster);
  cluster.subscribe = (listener) => {
    listening += 1;
    const end = subscribe(listener);
    return () => {
      listening -= 1;
      end();
    };
  };
  return () => listening;
}
