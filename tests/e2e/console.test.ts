import { join } from 'node:path';

import { browserFor, newPage } from '@dovetail/test-support/browser';
import { claims, untilRunning } from '@dovetail/test-support/cluster';
import { poolReady } from '@dovetail/test-support/placement';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld } from '@dovetail/test-support/world';
import axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Looks at the console of a lab in a real browser, as a user would. */
const images = join(import.meta.dirname, '..', '..', 'docs', 'images');
const rewrite = process.env['SCREENSHOTS_REWRITE'] !== undefined;

const browser = await browserFor('the console in a browser');
const sizes = { wide: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } } as const;

describe.runIf(browser !== undefined)('the console of a lab', () => {
  let at: TestWorld;
  let page: Page;
  let url: string;

  const open = (
    options: { readonly size?: keyof typeof sizes; readonly dark?: boolean } = {},
  ): Promise<Page> => openPage(browser as Browser, url, options);
  const text = (selector: string): Promise<string> => page.locator(selector).innerText();
  const shows = (what: string, selector: string, wanted: RegExp): Promise<unknown> =>
    eventually(what, async () => wanted.test(await text(selector)));

  beforeAll(async () => {
    at = await openWorld({ world: 'twin', console: true, env: { reaper: { GAP_EVERY: '2s' } } });
    url = at.lab.parts.get('console')?.pageUrl ?? '';
    await at.kube.putManifests(
      poolManifest({ clusterName: at.lab.options.clusterName, instanceTypes: ['c5.large'] }),
    );
    await poolReady(at);
    page = await open();
  });
  afterAll(async () => {
    await browser?.close();
    await at?.close();
  });

  test('has its address in the inventory of the lab, and says that it is live', async () => {
    expect(at.lab.inventory).toContain(`console: ${url}`);
    await shows('a live page', '[data-testid=link]', /^Live$/);
    expect(await text('h1')).toBe(`Dovetail ${at.lab.options.clusterName}`);
    expect(await text('section.nodes')).toMatch(/Dovetail has no node here/);
  });

  test('shows nodes by pool and zone as they fill, with price and what comes next', async () => {
    const fits = { name: 'fits', cpu: '700m', memory: '100Mi', replicas: 2 };
    await at.kube.putManifests(deploymentManifest(fits));
    await untilRunning(at, 'default', 2);
    await shows(
      'a full node',
      '.rows',
      /ip-\S+[^]*c5\.large[^]*\d\d %[^]*\$0\.\d{4}\/h[^]*expires in 29d/,
    );
    expect(await text('.row.group')).toMatch(/default us-west-2[a-z]/);
    expect(await text('[data-testid=sum-cost]')).toMatch(/\$0\.\d*[1-9]\d*\/h/);
    expect(await page.locator('.chart').getAttribute('aria-label')).toMatch(/^Now ~?\$0\.\d*[1-9]/);
  });

  test('shows the least that the pods would cost from nothing, as a line and in words', async () => {
    await shows(
      'the gap',
      '[data-testid=gap]',
      /^A plan from nothing for the same pods costs ~?\$0\.\d{4}\/h on \d nodes?, and none less than ~?\$0\.\d{4}\/h \(dashed\)/,
    );
    expect(await text('[data-testid=sum-least]')).toMatch(
      /^Least\s+~?\$0\.\d{4}\/h a plan from nothing: ~?\$0\.\d{4}\/h$/,
    );
    expect(await page.locator('.chart').getAttribute('aria-label')).toMatch(
      /; the least possible is ~?\$0\.\d{4}\/h$/,
    );
  });

  test('has a group of rows for each zone, with the sums of its nodes', async () => {
    const replicas = 12;
    await at.kube.putManifests(spreadManifest(replicas));
    await untilRunning(at, 'default', replicas + 2);
    await eventually(
      'at least three zones',
      async () => (await page.locator('.row.group').count()) >= 3 && isFull(await text('.rows')),
    );
    expect(await text('[data-testid=sum-nodes]')).toMatch(/^Nodes\s+\d+ all ready$/);
  });

  test('says why a pod waits, and the smallest change that would help', async () => {
    const large = { name: 'large', cpu: '60', memory: '100Mi', replicas: 1 };
    await at.kube.putManifests(deploymentManifest(large));
    await shows(
      'the reason',
      'section.waiting',
      /large-\S+[^]*asks for 60 cpu[^]*Would help: ask for at most/,
    );
    expect(await text('[data-testid=sum-waiting]')).toMatch(/1 pod/);
  });

  test('opens a decision with its alternatives, prices and reasons, by the keyboard alone', async () => {
    const plan = page.locator('.decisions li.plan > button').last();
    await plan.focus();
    await page.keyboard.press('Enter');
    expect(await plan.getAttribute('aria-expanded')).toBe('true');
    await shows(
      'the detail',
      '[data-testid=detail]',
      /Price \$0\.\d+\/h[^]*Reasons[^]*Other options, cheapest first[^]*c5\.large[^]*solveMs/,
    );
    await page.keyboard.press('Enter');
    await eventually(
      'its end',
      async () => (await page.locator('[data-testid=detail]').count()) === 0,
    );
  });

  test('hides and shows the nodes of a zone by the keyboard, and filters', async () => {
    const group = page.locator('.row.group button').first();
    const count = (): Promise<number> => page.locator('.row.node').count();
    const before = await count();
    await group.focus();
    await page.keyboard.press('Enter');
    await eventually('fewer rows', async () => (await count()) < before);
    await page.keyboard.press('Enter');
    await eventually('all rows', async () => (await count()) === before);
    await page.getByLabel('Filter').fill('no-such-type');
    await shows('no row', 'section.nodes', /No node has these words/);
    await page.getByLabel('Filter').fill('');
    await eventually('all rows', async () => (await count()) === before);
  });

  test('says that the bus is away, keeps what it has, and goes on by itself', async () => {
    const nats = at.lab.parts.get('nats-server');
    at.lab.supervisor?.hold('nats-server');
    await nats?.stop();
    await shows('the outage', '[data-testid=link]', /^The bus is away for/);
    expect(await page.locator('.row.node').count()).toBeGreaterThan(0);
    await nats?.restart();
    at.lab.supervisor?.release('nats-server');
    await shows('the bus', '[data-testid=link]', /^Live$/);
    expect(await page.locator('.row.node').count()).toBeGreaterThan(0);
  });

  test('says that the console itself is away, and goes on by itself', async () => {
    const console = at.lab.parts.get('console');
    at.lab.supervisor?.hold('console');
    await console?.stop();
    await shows('the loss', '[data-testid=link]', /^The console is away for/);
    await console?.restart();
    at.lab.supervisor?.release('console');
    await shows('the console', '[data-testid=link]', /^Live$/);
    await shows('the decisions', 'section.decisions', /launch/);
  });

  test('a page that is hidden gives its stream back, and takes it again once it is seen', async () => {
    const other = await open();
    const link = other.locator('[data-testid=link]');
    await eventually('a live page', async () => (await link.innerText()) === 'Live');
    const look = (state: string): Promise<unknown> =>
      other.evaluate(
        `Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => '${state}' });
         document.dispatchEvent(new Event('visibilitychange'))`,
      );
    const left = other.waitForEvent('requestfailed', (request) => /events\?/.test(request.url()));
    await look('hidden');
    await left;
    expect(await link.innerText()).toBe('The page rests while it is hidden.');
    await look('visible');
    await eventually('a live page', async () => (await link.innerText()) === 'Live');
    await other.close();
  });

  test('the sixth page of a browser says why it has no stream, until another one goes', async () => {
    const first = await open();
    const context = first.context();
    const opened = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const other = await context.newPage();
        await other.goto(url);
        return other;
      }),
    );
    const texts = (): Promise<readonly string[]> =>
      Promise.all([first, ...opened].map((one) => one.locator('[data-testid=link]').innerText()));
    const refused = /no room for this page: this browser has 5 pages of it in sight.*hide one/;
    await eventually('five live pages and one without room', async () => {
      const all = await texts();
      const live = all.filter((text) => text === 'Live').length;
      return live === 5 && all.filter((text) => refused.test(text)).length === 1;
    });
    const at = (await texts()).indexOf('Live');
    await [first, ...opened][at]?.close();
    const left = [first, ...opened].filter((_, index) => index !== at);
    await eventually('all live', async () =>
      (await Promise.all(left.map((one) => one.locator('[data-testid=link]').innerText()))).every(
        (text) => text === 'Live',
      ),
    );
    await context.close();
  });

  test.each([
    ['wide', false],
    ['wide', true],
    ['phone', false],
    ['phone', true],
  ] as const)(
    'on a %s screen, dark: %s, fits and has no serious fault of access',
    async (size, dark) => {
      const other = await open({ size, dark });
      await other.locator('.row.node').first().waitFor();
      const width = await other.evaluate('document.documentElement.scrollWidth');
      expect(width).toBeLessThanOrEqual(sizes[size].width);
      const back = await other.evaluate('getComputedStyle(document.body).backgroundColor');
      expect(back).toBe(dark ? 'rgb(18, 21, 27)' : 'rgb(246, 247, 249)');
      expect(await faultsOf(other)).toEqual([]);
      if (rewrite)
        await other.screenshot({
          fullPage: true,
          path: join(images, `console-${size}-${dark ? 'dark' : 'light'}.png`),
        });
      await other.close();
    },
  );

  test('a node that ends says so until it is gone', async () => {
    const [claim] = await claims(at);
    const name = claim?.metadata.name ?? '';
    await at.kubectl('delete', 'nodeclaim', name, '--wait=false');
    await shows('its end', '.rows', /ending/);
    await eventually(
      'its end',
      async () => !(await claims(at)).some(({ metadata }) => metadata.name === name),
    );
    await shows('the decision', 'section.decisions', /terminate[^]*ended/);
  });
});

/** Whether no node is empty or on its way. */
const isFull = (rows: string): boolean => !/launches|becomes ready|empty/.test(rows);

/** A deployment that spreads over zones. */
const spreadManifest = (replicas: number): string =>
  deploymentManifest({ name: 'spread', cpu: '700m', memory: '500Mi', replicas }).replace(
    '      containers:',
    `      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: DoNotSchedule
          labelSelector: { matchLabels: { app: spread } }
      containers:`,
  );

async function openPage(
  browser: Browser,
  url: string,
  options: { readonly size?: keyof typeof sizes; readonly dark?: boolean },
): Promise<Page> {
  const page = await newPage(browser, {
    viewport: sizes[options.size ?? 'wide'],
    colorScheme: options.dark === true ? 'dark' : 'light',
    reducedMotion: 'reduce',
  });
  // A violation of the page's own policy, or an error of its script, fails the test that meets it.
  page.on('pageerror', (error) => {
    throw error;
  });
  await page.goto(url);
  return page;
}

/** The elements with faults that axe-core calls serious or critical. */
async function faultsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults;
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
}
