import type { NodeClaim } from '@dovetail/core-api';
import { type ClusterChange, isStatusChange } from '@dovetail/core-cluster';

import type { ReaperCluster } from './reaper-cluster.js';

/** An object as it is compared: its version changes with every write, whatever is written. */
const plain = <T extends { readonly resourceVersion: string }>(object: T): string =>
  JSON.stringify({ ...object, resourceVersion: '' });

/** A claim without what the reaper itself writes while its node is busy or at rest. */
const plainClaim = ({ lastPodEventMs: _event, ...claim }: NodeClaim): string =>
  plain({ ...claim, conditions: claim.conditions.filter(({ type }) => type !== 'Consolidatable') });

/**
 * Whether a change may make a command possible that was not found before. A kubelet writes to its
 * node every few minutes to say that it lives, so that something changes all the time in a cluster
 * of some size, and a search would never rest.
 */
function isNews(change: ClusterChange): boolean {
  switch (change.kind) {
    case 'node':
    case 'pod':
    case 'pdb': {
      const { before, after } = change;
      return before === undefined || after === undefined ? true : plain(before) !== plain(after);
    }
    case 'claim': {
      const { before, after } = change;
      return before === undefined || after === undefined
        ? true
        : plainClaim(before) !== plainClaim(after);
    }
    case 'pool':
      return !isStatusChange(change);
    case 'attachment':
    case 'nodeclass':
    case 'daemonset':
    case 'namespace':
    case 'pv':
    case 'pvc':
    case 'storageclass':
    case 'csinode':
      return false;
  }
}

/** The grounds of an answer, counted: changes of the cluster that matter, and of the prices. */
export type NewsCounts = { readonly changes: number; readonly prices: number };

/** Counts before any news: whatever is counted later differs. */
export const noNews: NewsCounts = { changes: -1, prices: -1 };

/** Whether nothing that matters has changed between these counts. */
export const isSameNews = (a: NewsCounts, b: NewsCounts): boolean =>
  a.changes === b.changes && a.prices === b.prices;

/**
 * Counts the news of the cluster, so that an answer about nodes need not be asked for again while
 * nothing has changed that it stood on.
 */
export class News {
  readonly #cluster: ReaperCluster;
  #changes = 0;

  constructor(cluster: ReaperCluster) {
    this.#cluster = cluster;
    cluster.subscribe((change) => {
      if (isNews(change)) this.#changes += 1;
    });
  }

  /** The counts as they are now. */
  counts(): NewsCounts {
    return { changes: this.#changes, prices: this.#cluster.prices.revision };
  }
}
