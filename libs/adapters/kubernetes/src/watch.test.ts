import { Readable } from 'node:stream';

import {
  KubeError,
  type KubeObject,
  kubeResources,
  Stopper,
  type WatchEvent,
  type WatchReach,
} from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { codeOf, type Rest, type RestRequest, type RestResponse } from './rest.js';
import { watchResource } from './watch.js';

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
const object = (uid: string, resourceVersion = '1'): KubeObject => ({
  metadata: { uid, name: `name-${uid}`, resourceVersion },
});
const line = (type: string, of: object): string => `${JSON.stringify({ type, object: of })}\n`;

/**
 * A server that answers lists and watches from a script, in order. A watch is the chunks of its
 * body.
 */
function scripted(
  script: readonly (readonly KubeObject[] | readonly string[] | KubeError)[],
  versions: readonly string[],
) {
  const [...listed] = versions;
  const asked: RestRequest[] = [];
  const next = (request: RestRequest): readonly unknown[] => {
    const answer = script[asked.length];
    asked.push(request);
    if (answer instanceof KubeError) throw answer;
    if (answer === undefined) throw new Error('the script is over');
    return answer;
  };
  const rest: Rest = {
    json: (request) => {
      const items = next(request);
      return Promise.resolve({
        metadata: { resourceVersion: listed.shift() ?? '10' },
        items,
      } as never);
    },
    send: (request) => {
      const chunks = next(request) as readonly string[];
      return Promise.resolve({
        body: Readable.from(chunks.map((chunk) => Buffer.from(chunk))),
      } as unknown as RestResponse);
    },
  };
  return { rest, asked };
}

async function eventsOf(
  script: Parameters<typeof scripted>[0],
  count: number,
  versions: readonly string[] = [],
): Promise<{ readonly events: readonly string[]; readonly asked: readonly RestRequest[] }> {
  const { rest, asked } = scripted(script, versions);
  const stop = new Stopper();
  const events: string[] = [];
  const shown = (event: WatchEvent<string>): string =>
    event.kind === 'set' ? event.value : event.kind === 'gone' ? `gone ${event.uid}` : event.kind;
  const watch = { resource: kubeResources.pods, project: (seen: KubeObject) => seen.metadata.name };
  for await (const event of watchResource(rest, silent, watch, stop)) {
    events.push(shown(event));
    if (events.length === count) break;
  }
  return { events, asked };
}

test('a watch lists, says synced, and then reports changes', async () => {
  const { events } = await eventsOf(
    [[object('a')], [line('ADDED', object('b', '11')), line('DELETED', object('a', '12'))]],
    4,
  );
  expect(events).toEqual(['name-a', 'synced', 'name-b', 'gone a']);
});

test('a broken watch resumes at the last event, and a bookmark moves that point', async () => {
  const { events, asked } = await eventsOf(
    [
      [object('a')],
      [line('BOOKMARK', { metadata: { resourceVersion: '17' } }), '{"type":"ADDED","obj'],
      [line('ADDED', object('b', '18'))],
    ],
    3,
  );
  expect(events).toEqual(['name-a', 'synced', 'name-b']);
  expect(asked.map(({ query }) => query?.['resourceVersion'])).toEqual([undefined, '10', '17']);
});

test('a watch says that it fails, and that it follows again', async () => {
  const refused = new KubeError('unavailable', 'connect ECONNREFUSED');
  const { rest } = scripted([[], refused, refused, [line('ADDED', object('b', '11'))]], []);
  const told: string[] = [];
  const watch = {
    resource: kubeResources.pods,
    project: () => '',
    reach: (reach: WatchReach) => told.push(reach.kind),
  };
  for await (const event of watchResource(rest, silent, watch, new Stopper()))
    if (event.kind === 'set') break;
  expect(told).toEqual(['lost', 'lost', 'following']);
});

test('a line that arrives in pieces is one event', async () => {
  const whole = line('ADDED', object('b', '11'));
  const { events } = await eventsOf([[], [whole.slice(0, 20), whole.slice(20)]], 2);
  expect(events).toEqual(['synced', 'name-b']);
});

test.each([
  ['as an error event', [line('ERROR', { code: 410, message: 'too old' })]],
  ['as a status', new KubeError('gone', 'too old')],
])('a forgotten version, %s, lists again and reports what vanished', async (_how, forgotten) => {
  const { events } = await eventsOf([[object('a')], forgotten, [object('b')]], 5);
  expect(events).toEqual(['name-a', 'synced', 'name-b', 'gone a', 'synced']);
});

/** The most events that came in one turn of the event loop. */
async function mostInATurn(script: Parameters<typeof scripted>[0], count: number): Promise<number> {
  const { rest } = scripted(script, []);
  const watch = { resource: kubeResources.pods, project: () => '' };
  const inTurn = new Map<number, number>();
  let turn = 0;
  let ticking = setImmediate(function tick() {
    turn += 1;
    ticking = setImmediate(tick);
  });
  let events = 0;
  for await (const _event of watchResource(rest, silent, watch, new Stopper())) {
    inTurn.set(turn, (inTurn.get(turn) ?? 0) + 1);
    if ((events += 1) === count) break;
  }
  clearImmediate(ticking);
  return Math.max(...inTurn.values());
}

describe('a turn of the event loop takes in', () => {
  const many = Array.from({ length: 500 }, (_, index) => `pod-${index}`);
  test('at most 50 objects of a list', async () => {
    expect(await mostInATurn([many.map((uid) => object(uid))], 500)).toBe(50);
  });

  test('at most 50 changes, even if all of them came at once', async () => {
    const chunk = many.map((uid) => line('ADDED', object(uid))).join('');
    expect(await mostInATurn([[], [chunk]], 501)).toBeLessThanOrEqual(51);
  });
});

describe('a server whose etcd was restored from a backup', () => {
  const tooLarge = 'Timeout: Too large resource version: 200, current: 100';
  const causes = [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }];
  test.each([
    ['as an error event', [line('ERROR', { code: 504, reason: 'Timeout', details: { causes } })]],
    ['as an event of an old server', [line('ERROR', { code: 500, message: tooLarge })]],
    ['as a status', new KubeError(codeOf(504, { message: tooLarge }), tooLarge)],
  ])('is listed again, and its versions are said to have gone back: %s', async (_how, refusal) => {
    const { events, asked } = await eventsOf(
      [[object('a', '150')], refusal, [object('a', '90')], [line('ADDED', object('b', '101'))]],
      6,
      ['200', '100'],
    );
    expect(events).toEqual(['name-a', 'synced', 'restored', 'name-a', 'synced', 'name-b']);
    expect(asked.map(({ query }) => query?.['resourceVersion'])).toEqual([
      undefined,
      '200',
      undefined,
      '100',
    ]);
  });

  test('is not taken for one when the list is newer', async () => {
    const { events } = await eventsOf(
      [[object('a')], new KubeError('gone', 'too old'), [object('a')]],
      4,
      ['99', '100'],
    );
    expect(events).toEqual(['name-a', 'synced', 'name-a', 'synced']);
  });
});
