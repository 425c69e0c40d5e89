import { expect, test } from 'vitest';

import { recordingLog } from '../testing/outside.js';
import { reportMalformed } from './malformed-messages.js';

test.each([
  ['state', 'dovetail.lab.state.pod.u'],
  ['catalog', 'dovetail.lab.catalog.class.c'],
])('a message of the stream %j is logged and counted by stream and field', (message, subject) => {
  const { log, lines } = recordingLog();
  const counted: unknown[] = [];
  const metrics = {
    count: (...call: readonly unknown[]) => void counted.push(call),
    set: () => undefined,
    remove: () => undefined,
    observe: () => undefined,
  };
  reportMalformed(
    { log, metrics },
    { kind: 'malformed', subject, sequence: 3, field: 'Pod.phase', reason: 'unknown value 9' },
  );
  expect(lines).toEqual([
    {
      level: 'warn',
      name: 'message-malformed',
      message: `${subject}: Pod.phase: unknown value 9`,
      fields: { subject, field: 'Pod.phase' },
    },
  ]);
  expect(counted).toEqual([['dovetail_malformed_messages_total', { message, field: 'Pod.phase' }]]);
});
