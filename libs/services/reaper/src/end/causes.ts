import { annotations } from '@dovetail/core-api';
import { type DisruptionNote, note, parseRetirement, shownCause } from '@dovetail/core-disruption';
import type { Node } from '@dovetail/core-kube-model';

/** The cause that a claim ends for, as Events and decisions name it: its node's, or `deleted`. */
export const shownCauseOf = (node: Node | undefined): string => {
  const retirement = parseRetirement(node?.annotations[annotations.retirement]);
  return retirement === undefined ? 'deleted' : shownCause(retirement);
};

/** The same as a reason of decisions. */
export function reasonOf(node: Node | undefined): DisruptionNote {
  const retirement = parseRetirement(node?.annotations[annotations.retirement]);
  return retirement === undefined
    ? note('deleted-by-user', 'its NodeClaim was deleted, not by a retirement', {})
    : note(retirement.cause, `it was retired: ${shownCauseOf(node)}`, {});
}
