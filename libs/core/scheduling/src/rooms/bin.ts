import type { HostPort } from '@dovetail/core-kube-model';

import type { State } from '../match/states.js';
import { addTo } from '../model/dimensions.js';
import type { NodeRoom } from '../model/nodes.js';
import type { Offer } from '../model/templates.js';
import type { Tally } from '../topology/ledger.js';
import type { Item } from './items.js';

/**
 * A node that receives pods. An existing node has a `room`; a new one has a `state`, which says
 * what it may still become. Invariant: exactly one of the two is present.
 */
export type Bin = {
  readonly index: number;
  readonly room?: NodeRoom;
  /** Present on new nodes only. */
  state?: State;
  /**
   * The amounts of the pods that this plan places here: their requests, and on a new node also what
   * is assumed of pods that request none.
   */
  readonly used: Float64Array;
  readonly contents: Map<Item, number>;
  pods: number;
  /** Counts of hostname groups on this node; absent while there are none. */
  hosts?: Map<number, Tally>;
  /** Host ports of the pods that this plan places here. */
  ports: readonly HostPort[];
  /**
   * The offer that the node is charged as. Present only if limits, reservations or minValues need
   * it.
   */
  offer?: Offer;
  minValuesRelaxed: boolean;
};

/** Returns the requests of the pods that this plan places on a bin, without assumed amounts. */
export function requestsIn({ contents, used }: Bin): Float64Array {
  const total = new Float64Array(used.length);
  for (const [item, count] of contents) addTo(total, item.cls.requests, count);
  return total;
}
