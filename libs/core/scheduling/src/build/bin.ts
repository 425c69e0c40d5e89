import type { HostPort } from '@dovetail/core-kube-model';
import type { State } from '../match/states.js';
import type { NodeRoom } from '../model/nodes.js';
import type { Offer } from '../model/templates.js';
import type { Tally } from '../topology/ledger.js';
import type { Item } from './items.js';

/** A node that pods are placed on: one that exists (`room`), or a new one that is still free within its `state`. */
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

const everywhere = (ip: string): boolean => ip === '' || ip === '0.0.0.0' || ip === '::';

/** Two host ports clash on one node when port and protocol agree and the addresses overlap. */
export const portsClash = (a: HostPort, b: HostPort): boolean =>
  a.port === b.port && a.protocol === b.protocol && (a.ip === b.ip || everywhere(a.ip) || everywhere(b.ip));

/** Whether any of `wanted` clashes with any of `taken`. */
export const anyClash = (taken: readonly HostPort[], wanted: readonly HostPort[]): boolean =>
  wanted.some((port) => taken.some((other) => portsClash(port, other)));
