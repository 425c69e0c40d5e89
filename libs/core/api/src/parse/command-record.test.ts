import { describe, expect, test } from 'vitest';

import { commandRecordObject } from '../command-record.js';
import { commandRecordOf } from './command-record.js';
import { mistakenKinds, mistakenNulls } from './testing/wrong-kinds.js';

const metadata = { name: 'underutilized-1', uid: 'u-1' };
const nodeOut = (name: string) => ({
  nodeName: name,
  nodeUid: `${name}-uid`,
  claimName: `claim-${name}`,
  claimUid: `claim-${name}-uid`,
});
const parts = {
  name: 'underutilized-1',
  nodesOut: [nodeOut('n1'), nodeOut('n2')],
  planId: 'plan-1',
};
const told = {
  summary: 'n1, n2 go; 2 pods move',
  nodesIn: [],
  moves: [],
  pricePerHourBefore: '0.0960',
  pricePerHourAfter: '0.00',
  savingPerHour: '0.0960',
  disruptionCost: '4.00',
};
const written = commandRecordObject({ ...parts, told }).spec;
/** The part that is read back: the rest is for people. */
const { cause, nodesOut, planID } = written;
const spec = { cause, nodesOut, planID };

test('a command is read as it was written', () =>
  expect(commandRecordOf({ metadata, spec: written })).toEqual({
    ok: true,
    value: { uid: 'u-1', ...parts },
  }));

test('a command that buys nothing names no plan', () => {
  const { planId: _, ...removal } = parts;
  const object = commandRecordObject({ ...removal, told });
  expect(object.spec).not.toHaveProperty('planID');
  expect(commandRecordOf({ ...object, metadata })).toMatchObject({ ok: true, value: removal });
});

test.each([['Tainted'], ['Ending'], ['TakenBack']])('the phase %s is read', (phase) =>
  expect(commandRecordOf({ metadata, spec, status: { phase, message: 'm' } })).toMatchObject({
    value: { phase, message: 'm' },
  }),
);

test('a command that is over says since when', () =>
  expect(
    commandRecordOf({ metadata, spec, status: { endedAt: '2026-11-26T00:00:00Z' } }),
  ).toMatchObject({ value: { endedMs: Date.UTC(2026, 10, 26) } }));

test.each<[string, object, string]>([
  ['of another cause', { spec: { ...spec, cause: 'other' } }, 'spec.cause'],
  ['of no node', { spec: { ...spec, nodesOut: [] } }, 'spec.nodesOut'],
  [
    'of a node without a name',
    { spec: { ...spec, nodesOut: [{}, {}] } },
    'spec.nodesOut[0].nodeName',
  ],
  ['in an unknown phase', { spec, status: { phase: 'Done' } }, 'status.phase'],
])('a command %s is refused by field', (_name, object, field) =>
  expect(commandRecordOf({ metadata, ...object })).toMatchObject({ ok: false, field }),
);

describe('each field of a Disruption', () => {
  const status = { phase: 'TakenBack', message: 'm', endedAt: '2026-11-26T00:00:00Z' };
  const whole = { metadata, spec, status };

  test('of another kind is refused by its path, with its value and a remedy', () =>
    expect(mistakenKinds(whole, commandRecordOf)).toEqual([]));

  test('that is null counts as absent', () =>
    expect(mistakenNulls(whole, commandRecordOf)).toEqual([]));
});
