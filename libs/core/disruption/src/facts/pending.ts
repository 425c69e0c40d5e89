import { annotations } from '@dovetail/core-api';

import { renderRetirement, type Retirement } from './retirement-record.js';
import { isEnding, type NodeView } from './view.js';

/** Retirements that were decided, and that the watch does not show yet, by UID of the claim. */
export type Pending = ReadonlyMap<string, Pick<Retirement, 'cause' | 'atMs' | 'drainMs'>>;

/**
 * The views as the watch will show them once it has caught up with these retirements. A node counts
 * as retiring from the decision on, so that no two decisions spend the same budget. Without a node
 * the claim itself is deleted.
 */
export const withPending = (views: readonly NodeView[], pending: Pending): readonly NodeView[] =>
  pending.size === 0
    ? views
    : views.map((view) => {
        const retirement = isEnding(view) ? undefined : pending.get(view.claim.uid);
        return retirement === undefined ? view : asRetiring(view, retirement);
      });

function asRetiring(view: NodeView, retirement: Retirement): NodeView {
  const { claim, node } = view;
  if (node === undefined) return { ...view, claim: { ...claim, deletionMs: retirement.atMs } };
  const written = { [annotations.retirement]: renderRetirement(retirement) };
  return { ...view, node: { ...node, annotations: { ...node.annotations, ...written } } };
}
