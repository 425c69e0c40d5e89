import { createHash } from 'node:crypto';

import type { Reader } from '@dovetail/contracts';
import { BusError, type Hash } from '@dovetail/core-ports';

import { busOf, type BusRequest, natsOptions, remedyOf } from './connection.js';

/** Names content as the services do. */
export const nodeHash: Hash = {
  sha256Hex: (text) => createHash('sha256').update(text).digest('hex'),
};

/** The value of some work with the bus, or why it could not be done and the remedy. */
export type Asked<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly why: string };

/**
 * Does some work with a reader of the bus, which calls itself `name` there, and whose connection
 * ends with the work. A bus that fails is an answer, and no error.
 */
export async function withReader<T>(
  request: BusRequest,
  name: string,
  work: (reader: Reader) => Promise<T>,
): Promise<Asked<T>> {
  const { cluster } = request;
  let said = '';
  const options = natsOptions(request, name, {
    err: (text) => {
      said = text.trimEnd();
    },
  });
  if (options === undefined) return { ok: false, why: said };
  const { bus, close } = busOf(options);
  try {
    return { ok: true, value: await work({ bus, cluster, hash: nodeHash }) };
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    return { ok: false, why: remedyOf(error, { cluster, servers: options.servers }) };
  } finally {
    await close();
  }
}
