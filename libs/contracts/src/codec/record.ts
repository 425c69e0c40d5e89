import type { PackedPart, PlanRecord } from '../messages.js';
import { type Codec, int, Malformed, message, name, type Wire } from './fields.js';
import { cause } from './plan.js';
import { admissionNumber, streamPosition } from './values.js';

const recordRest = message<Omit<PlanRecord, 'cause'>>({
  id: name,
  input: name,
  statePosition: streamPosition,
  admissionSeen: admissionNumber,
  createdMs: int,
  solver: name,
  solveMs: int,
});
/** The record of a plan. */
export const planRecord: Codec<PlanRecord> = {
  write: (value) => ({
    ...(recordRest.write(value) as Wire),
    ...(cause.write(value.cause) as Wire),
  }),
  read: (from) => ({ ...recordRest.read(from), cause: cause.read(from) }),
};

const bytes: Codec<Uint8Array> = {
  write: (value) => value,
  read: (wire) => {
    if (wire instanceof Uint8Array) return wire;
    throw new Malformed('it is not a string of bytes');
  },
};

/** A piece of an input. */
export const recordPart = message<PackedPart>({ id: name, packed: bytes });
