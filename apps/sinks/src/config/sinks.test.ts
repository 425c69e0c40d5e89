import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, test } from 'vitest';

import { readDocument } from './document.js';
import { readSinks } from './sinks.js';

const scratch = mkdtempSync(join(tmpdir(), 'dovetail-sinks-config-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
const clock = { nowMs: () => 0 };
const key = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
writeFileSync(join(scratch, 'key'), `${key}\n`);
writeFileSync(join(scratch, 'url'), 'ftp://secret.example.com\n');
process.env['SINKS_TEST_URL'] = 'https://hooks.example.com/T0/B0/secret';

const faultsOf = (sink: object): readonly string[] => {
  const read = readSinks({ sinks: [{ name: 'a', ...sink }] }, clock);
  return read.ok ? [] : read.faults;
};
const webhook = { url: 'https://x.example.com/' };

describe('a file of sinks', () => {
  test('may be YAML or JSON, with secrets from files and variables', () => {
    const document = readDocument(`
sinks:
  - name: audit
    webhook: { url: https://audit.example.com/, signingKey: { file: ${join(scratch, 'key')} } }
    kinds: [launch, terminate, launch]
    giveUpAfter: 1h30m
  - name: on-call
    slack: { url: { env: SINKS_TEST_URL } }
  - { "name": "events", "eventBridge": { "region": "us-west-2" }, "from": "first" }
`);
    const read = readSinks(document, clock);
    expect(read.ok && read.sinks).toMatchObject([
      { name: 'audit', kinds: ['launch', 'terminate'], giveUpAfterMs: 5_400_000, from: 'now' },
      { name: 'on-call', kinds: ['launch-failed', 'unschedulable', 'interrupt', 'collect'] },
      { name: 'events', from: 'first', receiver: { batchMax: 10 }, giveUpAfterMs: 86_400_000 },
    ]);
  });

  test.each([
    [{ webhook }, []],
    [{ webhook, kindz: ['launch'] }, ['sinks[0].kindz is no field here: give one of ']],
    [{}, ['sinks[0]: give exactly one of webhook, slack, eventBridge']],
    [{ webhook, slack: webhook }, ['sinks[0]: give exactly one of webhook, slack, eventBridge']],
    [
      { webhook: 'x' },
      ['sinks[0].webhook is "x": give an object', 'sinks[0].webhook.url is missi'],
    ],
    [{ webhook, name: 'A b' }, ['sinks[0].name is "A b": give up to 40 small letters']],
    [{ webhook, kinds: [] }, ['sinks[0].kinds is []: give a list']],
    [{ webhook, reasons: ['No Code'] }, ['sinks[0].reasons is ["No Code"]: give codes of']],
    [{ webhook, pools: 'default' }, ['sinks[0].pools is "default": give a list']],
    [{ webhook, from: 'yesterday' }, ['sinks[0].from is "yesterday": give one of now, first']],
    [{ webhook, giveUpAfter: '7d' }, ['sinks[0].giveUpAfter is "7d": give a duration']],
    [{ webhook, giveUpAfter: '1s' }, ['sinks[0].giveUpAfter is "1s": give a duration from 1m']],
    [{ webhook: { ...webhook, mode: 'raw' } }, ['sinks[0].webhook.mode is "raw": give one of str']],
    [{ webhook: { url: 'https://a:b@x.example.com' } }, ['sinks[0].webhook.url is "https://a:b@']],
    [
      { webhook: { ...webhook, signingKey: 'short' } },
      ['sinks[0].webhook.signingKey is "short": '],
    ],
    [{ webhook: { ...webhook, timeout: '2m' } }, ['sinks[0].webhook.timeout is "2m": give a dur']],
    [
      { webhook: { ...webhook, headers: { 'ce-id': 'x' } } },
      ['sinks[0].webhook.headers is {"ce-id":"x"}: give other headers than ce-id'],
    ],
    [{ eventBridge: { region: 'mars' } }, ['sinks[0].eventBridge.region is "mars": give the name']],
    [
      { webhook: { url: { file: '/none' } } },
      ['sinks[0].webhook.url is {"file":"/none"}: give th'],
    ],
    [
      { webhook: { url: { path: '/x' } } },
      ['sinks[0].webhook.url is {"path":"/x"}: give the text'],
    ],
  ])('%j is told by field, value and remedy', (sink, faults) =>
    expect(faultsOf(sink)).toEqual(faults.map((each) => expect.stringContaining(each) as string)),
  );

  test('tells no secret that is in a file', () => {
    const faults = faultsOf({ webhook: { url: { file: join(scratch, 'url') } } });
    expect(faults).toEqual([
      expect.stringMatching(/url is .*: give an address with https.* \(in the fi/),
    ]);
    expect(faults.join()).not.toContain('secret.example.com');
  });

  test('has no name twice', () => {
    const twice = {
      sinks: [
        { name: 'a', webhook },
        { name: 'a', webhook },
      ],
    };
    expect(readSinks(twice, clock)).toEqual({
      ok: false,
      faults: ['sinks: two have the name "a": give each its own'],
    });
  });
});

test.each([['- a'], ['x'], [''], ['sinks: ['], ['{'], ['a: b: c']])(
  '%j is no file of sinks',
  (text) =>
    expect(() => readDocument(text)).toThrow(/^give YAML or JSON that holds a list `sinks`/),
);
