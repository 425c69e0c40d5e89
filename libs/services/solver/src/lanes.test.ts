import { expect, test } from 'vitest';

import { type Done, type Lane, Lanes } from './lanes.js';

/** Lanes to which questions come at steps that are counted, and the order of what happens. */
function thread(comeAt: Readonly<Record<number, readonly Lane[]>>) {
  const order: string[] = [];
  let step = 0;
  const lanes: Lanes = new Lanes({
    receive: () => {
      step += 1;
      for (const lane of comeAt[step] ?? []) ask(lane, 1);
    },
  });
  const ask = (lane: Lane, steps: number, fails = false): void => {
    const work = (): string => {
      order.push(`${lane} begins`);
      for (let left = steps; left > 0; left -= 1) lanes.giveWay();
      if (fails) throw new Error(`${lane} fails`);
      return `${lane} ends`;
    };
    const done: Done<string> = {
      resolve: (value) => void order.push(value),
      reject: (error) => void order.push((error as Error).message),
    };
    lanes.put(lane, work, done);
  };
  return { order, ask, lanes };
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
};

test('a batch that comes while a what-if is planned is answered at its next step', async () => {
  const { order, ask } = thread({ 3: ['batch'] });
  ask('what-if', 5);
  await turns();
  expect(order).toEqual(['what-if begins', 'batch begins', 'batch ends', 'what-if ends']);
});

test('a batch that has come with a what-if is planned before it begins', () => {
  const { order, ask } = thread({ 1: ['batch'] });
  ask('what-if', 0);
  expect(order.slice(0, 2)).toEqual(['batch begins', 'batch ends']);
});

test('of work that waits, the most urgent is done first, and none waits for a search', async () => {
  const { order, ask } = thread({ 2: ['what-if', 'committed', 'batch'] });
  ask('search', 2);
  await turns();
  expect(order).toEqual([
    'search begins',
    ...['batch', 'committed', 'what-if'].flatMap((lane) => [`${lane} begins`, `${lane} ends`]),
    'search ends',
  ]);
});

test.each<[Lane, Lane]>([
  ['batch', 'batch'],
  ['batch', 'committed'],
  ['batch', 'search'],
  ['committed', 'committed'],
  ['committed', 'what-if'],
  ['what-if', 'what-if'],
])('work of the lane %s is not interrupted by work of the lane %s', async (first, second) => {
  const { order, ask } = thread({ 2: [second] });
  ask(first, 3);
  expect(order).toEqual([`${first} begins`, `${first} ends`]);
  await turns();
  expect(order.slice(2)).toEqual([`${second} begins`, `${second} ends`]);
});

test('work that fails fails alone', async () => {
  const { order, ask, lanes } = thread({});
  let isAsked = false;
  const work = (): string => {
    if (!isAsked) ask('batch', 0, true);
    isAsked = true;
    lanes.giveWay();
    return 'what-if ends';
  };
  const note = (value: unknown): void => void order.push(String(value));
  lanes.put('what-if', work, { resolve: note, reject: note });
  ask('batch', 0);
  await turns();
  expect(order).toEqual([
    'batch begins',
    'batch fails',
    'what-if ends',
    'batch begins',
    'batch ends',
  ]);
});

test('the event loop turns between two pieces of work', async () => {
  const order: string[] = [];
  const lanes = new Lanes({ between: async () => void order.push('turn') });
  const note = (value: string): void => void order.push(value);
  const put = (name: string, meanwhile: () => void = () => undefined): void =>
    lanes.put('what-if', () => (meanwhile(), name), { resolve: note, reject: () => undefined });
  put('first', () => ['second', 'third'].forEach((name) => put(name)));
  await turns();
  expect(order).toEqual(['first', 'turn', 'second', 'turn', 'third']);
});
