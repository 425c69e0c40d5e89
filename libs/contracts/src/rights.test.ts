import { describe, expect, test } from 'vitest';

import { decisionKinds, stateKinds } from './messages.js';
import { busRights, busRoles } from './rights.js';
import { deadLetterSpec, streamSpecs, subjects } from './subjects.js';

const publishers = (subject: string): readonly string[] =>
  busRoles.filter((role) => busRights('lab', role).publishes.includes(subject));

describe('rights on the bus', () => {
  test.each(stateKinds)('state of the kind %s has one publisher', (kind) =>
    expect(publishers(subjects.stateOfKind('lab', kind))).toHaveLength(1),
  );
  test.each(decisionKinds)('decisions of the kind %s have a publisher', (kind) =>
    expect(publishers(subjects.decisionsOfKind('lab', kind)).length).toBeGreaterThan(0),
  );
  test('a plan comes from solvers and the reaper, and a batch from pod-watcher', () => {
    expect(publishers(subjects.planAll('lab'))).toEqual(['solver', 'reaper']);
    expect(publishers(subjects.pendingAll('lab'))).toEqual(['pod-watcher']);
  });
  test('readers publish nothing, ask nothing and make nothing', () =>
    expect(busRights('lab', 'reader')).toMatchObject({
      publishes: [],
      asks: [],
      makes: [],
      works: [],
      serves: [],
    }));
  test.each([...streamSpecs('lab'), deadLetterSpec('lab')])(
    'the stream $name is made by a user that nothing else uses',
    ({ name }) => {
      const makers = busRoles.filter((role) =>
        busRights('lab', role).makes.some((spec) => spec.name === name),
      );
      expect(makers).toEqual(['streams']);
    },
  );
  test('the maker of streams reads and writes no message', () =>
    expect(busRights('lab', 'streams')).toMatchObject({
      publishes: [],
      asks: [],
      follows: [],
      consumes: [],
      reads: [],
      works: [],
      serves: [],
    }));
  test.each(busRoles)('every right of %s names the cluster', (role) => {
    const { publishes, asks, serves, inbox } = busRights('lab', role);
    for (const subject of [...publishes, ...asks, ...serves, inbox])
      expect(subject).toMatch(/\.lab\./);
  });
});
