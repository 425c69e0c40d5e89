import { nodeClaimOf, type NodeClaim } from '@dovetail/core-api';
import { nodeOf, type Node, type Parsed } from '@dovetail/core-kube-model';
import type { KubeObject } from '@dovetail/core-ports';

/** An object that the API server holds and that cannot be read: which field, what it says, what would do. */
export class MalformedObject extends Error {
  override readonly name = 'MalformedObject';
  readonly field: string;
  constructor(object: KubeObject, failure: { readonly field: string; readonly value: string; readonly remedy: string }) {
    super(`${object.kind ?? 'object'} ${object.metadata.name}: ${failure.field} is ${failure.value}: ${failure.remedy}`);
    this.field = failure.field;
  }
}

function valueOf<T>(object: KubeObject, read: Parsed<T>): T {
  if (!read.ok) throw new MalformedObject(object, read);
  return read.value;
}

/** The claim that the API server answered. Throws MalformedObject. */
export const claimFrom = (object: KubeObject): NodeClaim => valueOf(object, nodeClaimOf(object));
/** The node that the API server answered. Throws MalformedObject. */
export const nodeFrom = (object: KubeObject): Node => valueOf(object, nodeOf(object));
