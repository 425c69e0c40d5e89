import { messageOf } from '@dovetail/core-ports';

import type { Decoded } from '../messages.js';
import { type Codec, Malformed } from './fields.js';

/**
 * A value that its message cannot carry. Either the writer has a bug, or a parser let a wrong
 * object through. Names the field.
 */
export class EncodeError extends Error {
  override readonly name = 'EncodeError';
  readonly field: string;
  constructor(type: string, field: string, reason: string) {
    super(`${type}.${field}: ${reason}`);
    this.field = field;
  }
}

/** The part of protobufjs' generated messages that we use. */
type GeneratedMessage = {
  encode(value: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
};

/** Both directions of one message type. `decode` never throws; `encode` throws EncodeError. */
export type Entry<T> = {
  readonly encode: (value: T) => Uint8Array;
  readonly decode: (bytes: Uint8Array) => Decoded<T>;
};

/** Pairs a generated message with its codec. */
export function entry<T>(type: string, generated: GeneratedMessage, codec: Codec<T>): Entry<T> {
  return {
    encode: (value) => {
      try {
        return generated.encode(codec.write(value) as object).finish();
      } catch (error) {
        if (error instanceof Malformed) throw new EncodeError(type, error.field, error.reason);
        throw error;
      }
    },
    decode: (bytes) => {
      let read: object;
      try {
        read = generated.decode(bytes);
      } catch (error) {
        return {
          ok: false,
          field: type,
          reason: `${String(bytes.length)} bytes are not a ${type}: ${messageOf(error)}`,
        };
      }
      try {
        return { ok: true, value: codec.read(read) };
      } catch (error) {
        if (error instanceof Malformed)
          return { ok: false, field: error.field, reason: error.reason };
        throw error;
      }
    },
  };
}
