import type { HostPort } from '@dovetail/core-kube-model';

import type { State } from '../match/states.js';
import type { NodeRoom } from '../model/nodes.js';
import type { Offer } from '../model/templates.js';
import type { Tally } from '../topology/ledger.js';
import type { Item } from './items.js';

/**
 * A node that pods are placed on: one that exists (`room`), or a new one that is still free within
 * its `state`.
 */
export type Bin = {
  readonly index: number;
  readonly room?: NodeRoom;
  /** New nodes only. */
  state?: State;
  /** What the pods placed by this plan request. */
  readonly used: Float64Array;
  readonly contents: Map<Item, number>;
  pods: number;
  /** Counts of hostname groups here; absent while there are none. */
  hosts?: Map<number, Tally>;
  /** Host ports taken by pods of this plan. */
  ports: readonly HostPort[];
  /** Kept only where limits or reservations need it: the offer that the node is charged as. */
  offer?: Offer;
  minValuesRelaxed: boolean;
};
