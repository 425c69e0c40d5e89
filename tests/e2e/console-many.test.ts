import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectNats, type NatsBus } from '@dovetail/adapter-nats';
import { publishState, type StateValue, streamSpecs } from '@dovetail/contracts';
import { claimValue, poolValue } from '@dovetail/core-api/testing';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import { systemClock, systemHash } from '@dovetail/runtime';
import { browserFor, newPage } from '@dovetail/test-support/browser';
import { eventually } from '@dovetail/test-support/world';
import {
  freePort,
  httpRequest,
  isUnavailable,
  obtainNatsServer,
  type RunningPart,
  startNats,
  startPart,
} from '@dovetail/testbed';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** 5,000 nodes of a made-up cluster, on a real bus and in a real browser. */
const nodesMax = 5_000;
const zones = ['us-west-2a', 'us-west-2b', 'us-west-2c'] as const;
const cluster = 'many';
const root = join(import.meta.dirname, '..', '..');

const browser = await browserFor('5,000 nodes on the page of the console');
const server = await obtainNatsServer();
if (isUnavailable(server))
  process.stdout.write(`LEFT OUT: 5,000 nodes on the page of the console: ${server.unavailable}\n`);

const log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

describe.runIf(browser !== undefined && !isUnavailable(server))('5,000 nodes', () => {
  let folder: string;
  let nats: Awaited<ReturnType<typeof startNats>>;
  let bus: NatsBus;
  let part: RunningPart;
  let page: Page;
  let generation = 0;

  const tell = (uid: string, state: StateValue): Promise<unknown> => {
    generation += 1;
    const channel = { bus, cluster, hash: systemHash, source: 'test', clock: systemClock };
    return publishState(channel, {
      kind: 'set',
      uid,
      state,
      generation: `1.${String(generation)}`,
    });
  };
  const rows = (): Promise<number> => page.locator('.row').count();
  const elements = (): Promise<number> => page.locator('*').count();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dovetail-many-'));
    nats = await startNats({ path: isUnavailable(server) ? '' : server.path, dir: folder });
    bus = connectNats({ servers: [nats.url], name: 'many', log });
    await bus.ensureStreams(streamSpecs(cluster));
    await tell('pool-default', { kind: 'pool', value: poolValue('default') });
    const createdMs = Date.now();
    for (let from = 0; from < nodesMax; from += 500)
      await Promise.all(
        Array.from({ length: 500 }, (_, index) => from + index).map((index) =>
          tellNode(tell, index, createdMs),
        ),
      );
    const [port, pagePort] = [await freePort(), await freePort()];
    part = await startPart({
      name: 'console',
      command: process.execPath,
      args: [join(root, 'dist', 'console.js')],
      logFile: join(folder, 'console.log'),
      env: {
        CLUSTER_NAME: cluster,
        NATS_URL: nats.url,
        HTTP_HOST: '127.0.0.1',
        HTTP_PORT: String(port),
        PAGE_PORT: String(pagePort),
      },
      ready: async () => (await httpRequest(`http://127.0.0.1:${port}/readyz`)).status === 200,
      readyDeadlineMs: 60_000,
    });
    page = await newPage(browser as Browser, { viewport: { width: 1280, height: 900 } });
    await page.goto(`http://127.0.0.1:${pagePort}/`);
    await page.locator('.row.node').first().waitFor();
  });
  afterAll(async () => {
    await browser?.close();
    await part?.stop();
    await bus?.close();
    await nats?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('are all counted, and only those in sight are elements of the page', async () => {
    expect(await page.locator('[data-testid=sum-nodes]').innerText()).toMatch(/^Nodes\s+5000 /);
    expect(await page.locator('.rows').getAttribute('aria-rowcount')).toBe(String(nodesMax + 4));
    expect(await rows()).toBeLessThan(60);
    expect(await elements()).toBeLessThan(1_500);
  });

  test('are reached by scrolling to the end by the keyboard, with as few elements', async () => {
    const before = await elements();
    await page.locator('.rows').focus();
    await page.keyboard.press('End');
    const last = page.locator(`.row[aria-rowindex="${String(nodesMax + 4)}"]`);
    await last.waitFor();
    expect(await last.innerText()).toMatch(/^node-\d+/);
    expect(await rows()).toBeLessThan(60);
    expect(await elements()).toBeLessThan(before + 200);
  });

  test('change one by one: a change of one node sends that node alone', async () => {
    await page.keyboard.press('Home');
    await page.locator('.row[aria-rowindex="3"]').waitFor();
    const bytes: number[] = [];
    const client = await page.context().newCDPSession(page);
    await client.send('Network.enable');
    client.on('Network.eventSourceMessageReceived', ({ data }) => bytes.push(data.length));
    const first = await page.locator('.row.node .what').first().innerText();
    await tell('pod-x', {
      kind: 'pod',
      value: podValue('pod-x', { nodeName: first, phase: 'Running', requests: { cpu: 3_000 } }),
    });
    await eventually('a fuller node', async () =>
      /7\d %/.test(await page.locator('.row.node').first().innerText()),
    );
    expect(bytes.every((size) => size < 5_000)).toBe(true);
  });
});

async function tellNode(
  tell: (uid: string, state: StateValue) => Promise<unknown>,
  index: number,
  createdMs: number,
): Promise<void> {
  const name = `node-${String(index)}`;
  const labels = {
    'karpenter.sh/nodepool': 'default',
    'karpenter.sh/initialized': 'true',
    'karpenter.sh/capacity-type': index % 2 === 0 ? 'spot' : 'on-demand',
    'node.kubernetes.io/instance-type': 'm5.xlarge',
    'topology.kubernetes.io/zone': zones[index % zones.length] ?? '',
  };
  const annotations = { 'dovetail.sh/price-per-hour': '0.1920' };
  const claim = claimValue(String(index), { nodeName: name, labels, annotations, createdMs });
  await tell(claim.uid, { kind: 'claim', value: claim });
  const node = nodeValue(name, { labels, createdMs });
  await tell(node.uid, { kind: 'node', value: node });
}
