import type { StoreOptions } from './store/state.js';
import { KubeStore } from './store/store.js';
import { strategyOf } from './strategies/strategies.js';

/** The settings of a store, apart from the rules of the kinds, which are Kubernetes'. */
export type KubeStoreOptions = Omit<StoreOptions, 'strategyOf'>;

/**
 * An empty cluster: the initial namespaces and nothing else. The same seed and the same calls give
 * the same objects.
 */
export const createKubeStore = (options: KubeStoreOptions): KubeStore =>
  new KubeStore({ ...options, strategyOf });
