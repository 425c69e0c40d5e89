import type { Decision } from '@dovetail/contracts';
import { decisionWords } from '@dovetail/service-kit';
import { describe, expect, test } from 'vitest';

import { jsonLine, Table } from './rows.js';
import { Selection } from './selection.js';

const nowMs = Date.parse('2026-01-02T03:04:05.678Z');
const decisionOf = (over: Partial<Decision> & Pick<Decision, 'id'>): Decision => ({
  kind: 'launch',
  atMs: nowMs,
  source: 'launcher',
  summary: 'launched m7g.large',
  objects: [],
  reasons: [],
  alternatives: [],
  facts: {},
  ...over,
});
const pool = (kind: 'NodePool' | 'Provisioner', name: string): Pick<Decision, 'pool'> => ({
  pool: { kind, name },
});
const pod = (name: string): Decision['objects'][number] => ({
  kind: 'Pod',
  namespace: 'shop',
  name,
  uid: `uid-${name}`,
});
const ids = (
  request: ConstructorParameters<typeof Selection>[0],
  decisions: readonly Decision[],
): readonly string[] => {
  const selection = new Selection(request, nowMs);
  return decisions.flatMap((decision) => selection.take(decision)).map(({ id }) => id);
};

describe('which decisions are shown', () => {
  test('a fact that is told twice is shown once', () =>
    expect(
      ids({}, [decisionOf({ id: 'a' }), decisionOf({ id: 'a' }), decisionOf({ id: 'b' })]),
    ).toEqual(['a', 'b']));

  const ofPools = [
    decisionOf({ id: 'default', ...pool('NodePool', 'default') }),
    decisionOf({ id: 'legacy', ...pool('Provisioner', 'default') }),
    decisionOf({ id: 'gpu', ...pool('NodePool', 'gpu') }),
    decisionOf({ id: 'none' }),
  ];
  test.each([
    ['default', ['default', 'legacy']],
    ['Provisioner/default', ['legacy']],
    ['NodePool/gpu', ['gpu']],
    ['other', []],
  ])('--pool %s shows %j', (wanted, shown) =>
    expect(ids({ pool: wanted }, ofPools)).toEqual(shown),
  );

  const aged = [
    decisionOf({ id: 'old', atMs: nowMs - 60_001 }),
    decisionOf({ id: 'edge', atMs: nowMs - 60_000 }),
    decisionOf({ id: 'new', atMs: nowMs + 1 }),
  ];
  test.each([
    [60_000, ['edge', 'new']],
    [0, ['new']],
    [undefined, ['old', 'edge', 'new']],
  ])('--since %s ms shows %j', (sinceMs, shown) =>
    expect(ids(sinceMs === undefined ? {} : { sinceMs }, aged)).toEqual(shown),
  );

  const story = [
    decisionOf({ id: 'refuse', kind: 'refuse', objects: [pod('web-1')] }),
    decisionOf({
      id: 'admit',
      kind: 'admit',
      claimName: 'default-1',
      objects: [pod('web-1'), pod('web-2')],
    }),
    decisionOf({ id: 'other', kind: 'admit', claimName: 'default-2', objects: [pod('web-3')] }),
    decisionOf({ id: 'launch', claimName: 'default-1', instanceId: 'i-1' }),
    decisionOf({ id: 'end', kind: 'terminate', claimName: 'default-1' }),
  ];
  test.each([
    ['shop/web-1', ['refuse', 'admit', 'launch', 'end']],
    ['web-2', ['admit', 'launch', 'end']],
    ['uid-web-3', ['other']],
    ['default-2', ['other']],
    ['i-1', ['launch', 'end']],
    ['other/web-1', []],
  ])('--about %s shows %j', (about, shown) => expect(ids({ about }, story)).toEqual(shown));

  test('--about finds the claim of a pod in a decision that is too old to be shown', () =>
    expect(
      ids({ about: 'web-1', sinceMs: 60_000 }, [
        { ...(story[1] as Decision), atMs: 0 },
        story[3] as Decision,
      ]),
    ).toEqual(['launch']));
});

describe('a plan', () => {
  const plan = decisionOf({ id: 'plan', kind: 'plan', planId: 'p', atMs: nowMs - 1_000 });
  const admit = decisionOf({ id: 'admit', kind: 'admit', planId: 'p', objects: [pod('web-1')] });
  const other = decisionOf({ id: 'other', kind: 'plan', planId: 'q' });

  test.each([
    ['before', [plan, other, admit], ['plan', 'admit']],
    ['after', [admit, other, plan], ['admit', 'plan']],
  ])('that comes %s what it says of a pod is shown with it', (_when, told, shown) =>
    expect(ids({ about: 'web-1' }, told)).toEqual(shown),
  );

  test('that was made before the command began is shown when it is published after', () => {
    const selection = new Selection({ sinceMs: 0 }, nowMs);
    expect(selection.take(plan)).toEqual([]);
    expect(selection.take({ ...plan, id: 'later' }, true)).toHaveLength(1);
  });

  const reasons = [{ code: 'resources-too-large', message: 'm', values: {} }] as const;
  test.each([
    ['plan', '0', '-'],
    ['plan', '2', 'resources-too-large'],
    ['admit', '', '-'],
    ['refuse', '', 'resources-too-large'],
  ] as const)('the REASONS of a %s with %s pods left out are %s', (kind, unplaced, shown) => {
    const decision = decisionOf({ id: 'a', kind, reasons, facts: { unplaced } });
    const [, row = ''] = new Table().lines([decision]).split('\n');
    expect(row.split(/ {2,}/).at(-1)).toBe(shown);
  });
});

describe('how they are shown', () => {
  test.each([
    [{}, '-'],
    [{ priceMicrosPerHour: 0 }, '0.0000'],
    [{ priceMicrosPerHour: 1_234_567 }, '1.2346'],
    [{ priceMicrosPerHour: 96_000, priceEstimated: true }, '~0.0960'],
  ])('a price of %j is %s', (price, shown) =>
    expect(decisionWords(decisionOf({ id: 'a', ...price })).price).toBe(shown),
  );

  test('a row has time, kind, pool, sentence, price and each reason once', () => {
    const reason = { code: 'empty', message: 'm', values: {} } as const;
    const [header, row] = new Table()
      .lines([
        decisionOf({
          id: 'a',
          ...pool('Provisioner', 'p'),
          priceMicrosPerHour: 5e5,
          reasons: [reason, reason, { ...reason, code: 'expired' }],
        }),
      ])
      .split('\n');
    expect(header?.split(/ {2,}/)).toEqual([
      'TIME',
      'KIND',
      'POOL',
      'SUMMARY',
      'PRICE $/H',
      'REASONS',
    ]);
    expect(row?.split(/ {2,}/)).toEqual([
      '2026-01-02T03:04:05Z',
      'launch',
      'Provisioner/p',
      'launched m7g.large',
      '0.5000',
      'empty,expired',
    ]);
  });

  test('the header is printed once, and columns stay as wide as they have been', () => {
    const table = new Table();
    const first = table
      .lines([decisionOf({ id: 'a', ...pool('NodePool', 'a-pool-with-a-long-name') })])
      .split('\n');
    const later = table.lines([decisionOf({ id: 'b', ...pool('NodePool', 'p') })]).split('\n');
    expect(later).toHaveLength(2);
    expect(later[0]?.indexOf('launched')).toBe(first[1]?.indexOf('launched'));
  });

  test('JSON is one line with everything, and its time readable', () => {
    const decision = decisionOf({ id: 'a', summary: 'two\nlines', facts: { steps: '3' } });
    expect(jsonLine(decision).indexOf('\n')).toBe(jsonLine(decision).length - 1);
    expect(JSON.parse(jsonLine(decision))).toEqual({
      time: '2026-01-02T03:04:05.678Z',
      ...decision,
    });
  });
});
