import { type NodeClaim, nodeClaimOf } from '@dovetail/core-api';
import { type Node, nodeOf, type Parsed } from '@dovetail/core-kube-model';
import type { KubeObject } from '@dovetail/core-ports';

/**
 * An object in the API server's answer that cannot be read: the field, its value and the remedy.
 */
class UnreadableAnswer extends Error {
  override readonly name = 'UnreadableAnswer';
  readonly field: string;
  constructor(
    object: KubeObject,
    failure: { readonly field: string; readonly value: string; readonly remedy: string },
  ) {
    super(
      `${object.kind ?? 'object'} ${object.metadata.name}: ${failure.field} is ${failure.value}: ${failure.remedy}`,
    );
    this.field = failure.field;
  }
}

function valueOf<T>(object: KubeObject, read: Parsed<T>): T {
  if (!read.ok) throw new UnreadableAnswer(object, read);
  return read.value;
}

/** The claim in the API server's answer. Throws UnreadableAnswer. */
export const claimFrom = (object: KubeObject): NodeClaim => valueOf(object, nodeClaimOf(object));

/** The node in the API server's answer. Throws UnreadableAnswer. */
export const nodeFrom = (object: KubeObject): Node => valueOf(object, nodeOf(object));
