import type { NodeClaim } from '@dovetail/core-api';
import { type ClusterChange, isStatusChange } from '@dovetail/core-cluster';

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
export function isNews(change: ClusterChange): boolean {
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
