import { isRecord } from '@dovetail/core-kube-model';
import { messageOf } from '@dovetail/core-ports';
import { parse } from 'yaml';

/**
 * Reads YAML or JSON that holds an object. It throws Error with the remedy, and with the place of a
 * fault.
 */
export function readDocument(text: string): Readonly<Record<string, unknown>> {
  const remedy = 'give YAML or JSON that holds a list `sinks`, as docs/guides/sinks.md shows';
  let read: unknown;
  try {
    read = parse(text, { prettyErrors: true });
  } catch (error) {
    const [fault = ''] = messageOf(error).split('\n');
    throw new Error(`${remedy}: ${fault}`, { cause: error });
  }
  if (isRecord(read)) return read;
  throw new Error(remedy);
}
