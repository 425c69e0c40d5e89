import { encodeStateRecord, type StateValue } from '@dovetail/contracts';
import type { Hash } from '@dovetail/core-ports';

/** The content of a tombstone. No digest is equal to it: those are 64 characters long. */
export const goneContent = 'gone';

/**
 * Returns the content of a state as text: a digest of its encoding without resourceVersion, because
 * a change of that alone changes nothing for a reader. The encoding of a claim is kilobytes, and
 * each object's content is kept as long as the object. A value that the wire cannot carry gets its
 * own content, so it is tried once.
 */
export function contentOf(state: StateValue, hash: Hash): string {
  const value =
    'resourceVersion' in state.value ? { ...state.value, resourceVersion: '' } : state.value;
  const plain = { kind: state.kind, value } as StateValue;
  try {
    const record = { kind: 'set', uid: '-', state: plain, generation: '-' } as const;
    return hash.sha256Hex(latin1(encodeStateRecord(record)));
  } catch (error) {
    return `not encodable: ${String(error)}`;
  }
}

/** The arguments of one call to fromCharCode; far below what engines allow on the stack. */
const chunkLength = 4_096;

/** One character a byte: pure code has no Buffer. */
function latin1(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += chunkLength)
    // A spread makes an array of numbers first, and takes six times as long.
    text += Reflect.apply(String.fromCharCode, undefined, bytes.subarray(at, at + chunkLength));
  return text;
}
