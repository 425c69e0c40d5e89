import { lookUp } from '@dovetail/core-invariant';
import type { CloudEvent, DeliveredMessage } from '@dovetail/core-ports';

import type { Decision } from './messages.js';

/** The whole decision as JSON, with its time also as text (docs/reference/schemas). */
export const decisionJson = (decision: Decision): Readonly<Record<string, unknown>> => ({
  time: new Date(decision.atMs).toISOString(),
  ...decision,
});

/**
 * A decision as a CloudEvent with JSON. Its attributes are those of the message, so that a receiver
 * knows a fact that it has had by another way. Undefined: the message has no id, source or type, so
 * it is none of Dovetail's.
 */
export function cloudEventOf(
  message: Pick<DeliveredMessage, 'headers'>,
  decision: Decision,
): CloudEvent | undefined {
  const attribute = (name: string): string | undefined =>
    textOf(lookUp(message.headers, `ce-${name}`));
  const [id, source, type] = [attribute('id'), attribute('source'), attribute('type')];
  if (id === undefined || source === undefined || type === undefined) return undefined;
  const [subject, time] = [attribute('subject'), attribute('time')];
  const { traceparent } = message.headers;
  return {
    id,
    source,
    type,
    ...(subject === undefined ? {} : { subject }),
    ...(time === undefined ? {} : { time }),
    ...(traceparent === undefined ? {} : { traceparent }),
    data: decisionJson(decision),
  };
}

/**
 * Headers carry other characters than printable ASCII as `%XX`. Bytes that are no UTF-8 make no
 * attribute, by the specification.
 */
function textOf(header: string | undefined): string | undefined {
  if (header === undefined || header === '') return undefined;
  try {
    return decodeURIComponent(header);
  } catch {
    return undefined;
  }
}
