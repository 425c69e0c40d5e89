import type { Decision } from '@dovetail/contracts';
import { expect, test } from 'vitest';

import { alternativesOf, type Story, type StoryKind, StoryTeller } from './story.js';
import { storyJson, storyText } from './story-text.js';

const nowMs = Date.UTC(2026, 0, 1, 12);
const decision = (over: Partial<Decision>): Decision => ({
  id: `${over.kind ?? 'plan'}/1`,
  kind: 'plan',
  atMs: nowMs - 60_000,
  source: 'solver',
  summary: 'decided',
  objects: [],
  reasons: [],
  alternatives: [],
  facts: {},
  ...over,
});
const pod = { kind: 'Pod', name: 'web-1', namespace: 'shop', uid: 'u1' };
const pool = { kind: 'NodePool', name: 'default' } as const;
const offer = (type: string, zone: string, priceMicrosPerHour: number) => ({
  what: `${type} spot ${zone}`,
  priceMicrosPerHour,
});
const tooLarge: Decision['reasons'][number] = {
  code: 'resources-too-large',
  message: 'the largest type has 96 CPUs',
  subject: 'NodePool/default',
  fell: { count: 968, of: 968 },
  remedy: 'ask for at most 96 CPUs',
  values: {},
};
const plan = decision({
  id: 'plan/p1',
  planId: 'p1',
  atMs: nowMs - 90_000,
  summary: '1 pod on 1 new node',
  pool,
  priceMicrosPerHour: 100_000,
  lowerBoundMicrosPerHour: 90_000,
  alternatives: [
    offer('c5.large', 'us-east-1a', 100_000),
    offer('c5.large', 'us-east-1b', 100_000),
    offer('m5.large', 'us-east-1a', 110_000),
  ],
});
const admit = decision({
  id: 'admit/p1',
  kind: 'admit',
  planId: 'p1',
  claimName: 'default-1',
  objects: [pod],
  summary: 'packed 1 pod',
  pool,
  priceMicrosPerHour: 100_000,
  reasons: [{ code: 'pool-chosen', message: 'it is the only pool', values: {} }],
});
const launch = decision({
  id: 'launch/1',
  kind: 'launch',
  claimName: 'default-1',
  summary: 'launched c5.large',
  atMs: nowMs - 50_000,
  reasons: [{ code: 'fleet-choice', message: 'EC2 chose it', values: {} }],
});
const refused = decision({
  id: 'unschedulable/1',
  kind: 'unschedulable',
  objects: [{ ...pod, name: 'huge', uid: 'u2' }],
  summary: 'found no place for 1 pod',
  reasons: [tooLarge],
});

function told(kind: StoryKind, name: string, ...decisions: readonly Decision[]): Story | undefined {
  const teller = new StoryTeller(kind, name);
  for (const one of decisions) teller.take(one);
  return teller.story();
}
const textOf = (story: Story | undefined): string =>
  story === undefined ? '' : storyText(story, nowMs, {});

test.each<[StoryKind, string]>([
  ['pod', 'shop/none'],
  ['claim', 'default-9'],
  ['pool', 'other'],
  ['decision', 'plan/x'],
])('nothing is told of a %s that no decision names', (kind, name) =>
  expect(told(kind, name, plan, admit, launch, refused)).toBeUndefined(),
);

test('without any decision nothing is told', () =>
  expect(told('pod', 'shop/web-1')).toBeUndefined());

test('a pod that fits nowhere has the step at which each pool fell out, and the remedy', () => {
  const text = textOf(told('pod', 'shop/huge', plan, admit, refused));
  expect(text).toMatch(/^pod shop\/huge: found no place for 1 pod$/m);
  expect(text).toMatch(/^unschedulable +default +resources-too-large +968 of 968 +the largest/m);
  expect(text).toMatch(/^remedy: ask for at most 96 CPUs$/m);
});

test('a pod that was placed has its bound, and the other options of its plan by price', () => {
  const text = textOf(told('pod', 'shop/web-1', plan, admit, launch));
  expect(text).toMatch(/\$0\.1000\/h \(no plan costs less than \$0\.0900\/h\)/);
  expect(text).toMatch(/^c5\.large spot +0\.1000 +- +us-east-1a us-east-1b$/m);
  expect(text.indexOf('c5.large spot')).toBeLessThan(text.indexOf('m5.large spot'));
});

test('decisions come in the order of their times, whatever order the stream has', () => {
  const orders = [
    [plan, admit, launch],
    [launch, admit, plan],
  ];
  for (const order of orders)
    expect(
      told('claim', 'default-1', ...order)
        ?.history.map(({ kind }) => kind)
        .slice(-2),
    ).toEqual(['admit', 'launch']);
});

test('a claim has the reasons for buying it beside those of its launch', () => {
  const text = textOf(told('claim', 'default-1', plan, admit, launch));
  expect(text).toMatch(/^claim default-1: launched c5\.large$/m);
  expect(text).toMatch(/^admit +- +pool-chosen/m);
  expect(text).toMatch(/^launch +- +fleet-choice/m);
});

test('a pool has the last time that it was refused, by a reason that names it', () => {
  const text = textOf(told('pool', 'default', plan, refused));
  expect(text).toMatch(/^pool default: found no place/m);
  expect(told('pool', 'NodePool/default', refused)?.decisive.id).toBe('unschedulable/1');
  expect(told('pool', 'Provisioner/default', plan, refused)).toBeUndefined();
});

test('the beginning of its id is enough for a decision, and a whole id comes first', () => {
  const longer = decision({ id: 'plan/p12', planId: 'p12', atMs: nowMs - 95_000 });
  expect(told('decision', 'plan/p1', longer, plan)?.decisive.id).toBe('plan/p1');
  expect(told('decision', 'admit/', plan, admit)?.history.map(({ id }) => id)).toEqual([
    'plan/p1',
    'admit/p1',
  ]);
});

test('the same decision several times is one row', () => {
  const again = ['2', '3'].map((id) => ({ ...refused, id: `unschedulable/${id}` }));
  expect(textOf(told('pod', 'shop/huge', refused, ...again))).toMatch(/ 3 times: found no place/);
});

test('JSON names its schema and has every field of each decision', () => {
  const story = told('pod', 'shop/web-1', plan, admit);
  expect(story).toBeDefined();
  if (story === undefined) return;
  expect(JSON.parse(storyJson(story))).toMatchObject({
    schema: 'dovetail.sh/explain/v1',
    kind: 'pod',
    decision: 'admit/p1',
    alternatives: alternativesOf(story),
    history: [{ id: 'plan/p1' }, { id: 'admit/p1', claimName: 'default-1' }],
  });
});

test('the beginning of several decisions is ambiguous, and the whole id of one is not', () => {
  const told = (name: string): readonly string[] => {
    const teller = new StoryTeller('decision', name);
    for (const id of ['plan/1', 'plan/12', 'admit/1']) teller.take(decision({ id }));
    return teller.ambiguous();
  };
  expect(told('plan/')).toEqual(['plan/1', 'plan/12']);
  expect(told('plan/1')).toEqual([]);
  expect(told('admit')).toEqual([]);
});

test('its sentences break between words where the terminal ends', () => {
  const told = { ...plan, summary: 'one '.repeat(30).trim() };
  const teller = new StoryTeller('decision', told.id);
  teller.take(told);
  const story = teller.story();
  const lines = story === undefined ? [] : storyText(story, nowMs, { width: 60 }).split('\n');
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(60);
  expect(lines.filter((line) => line.startsWith('one one'))).toHaveLength(2);
});

test('a command has its prices before and after in dollars, and its moves one by one', () => {
  const facts = {
    command: 'c1',
    pods: '3',
    moves: 'shop/web-1: node-a to node-b; shop/web-2: node-a to default-1',
    priceBeforeMicrosPerHour: '616000',
    savedMicrosPerHour: '308000',
    planId: '',
  };
  const teller = new StoryTeller('decision', 'command/c1');
  teller.take(decision({ id: 'command/c1/5', kind: 'command', facts }));
  const story = teller.story();
  if (story === undefined) throw new Error('there is no story');
  expect(storyText(story, nowMs, {})).toContain(`FACTS
command: c1
pods: 3
moves:
  shop/web-1: node-a to node-b
  shop/web-2: node-a to default-1
  and 1 more
priceBefore: $0.6160/h
priceAfter: $0.3080/h
saved: $0.3080/h
`);
});
