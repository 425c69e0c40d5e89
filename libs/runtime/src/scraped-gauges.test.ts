import type { MetricDefinitions, MetricSample } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { ScrapedGauges } from './scraped-gauges.js';

const definitions: MetricDefinitions = {
  nodes: {
    kind: 'gauge',
    labels: ['node'],
    help: 'Nodes, by "name"\nof\\the node',
    atScrape: true,
  },
  kept: { kind: 'gauge', help: 'Not of these' },
};

async function partsOf(gauges: ScrapedGauges): Promise<readonly string[]> {
  const parts: string[] = [];
  for await (const part of gauges.render()) parts.push(part);
  return parts;
}

/** The lines of samples, of a page where the gauge shows these. */
async function linesOf(...samples: readonly MetricSample[]): Promise<readonly string[]> {
  const gauges = new ScrapedGauges(definitions);
  gauges.show('nodes', () => samples);
  return (await partsOf(gauges))
    .join('')
    .split('\n')
    .filter((line) => line.startsWith('nodes'));
}

describe('gauges that are computed at a scrape', () => {
  test('without a source there is help and type, and no series', async () =>
    expect((await partsOf(new ScrapedGauges(definitions))).join('')).toBe(
      String.raw`
# HELP nodes Nodes, by "name"\nof\\the node
# TYPE nodes gauge
`,
    ));

  test.each<[MetricSample, string]>([
    [{ value: 1.5 }, 'nodes 1.5'],
    [{ value: 1, labels: { node: 'a' } }, 'nodes{node="a"} 1'],
    [{ value: 1, labels: { node: 'a', zone: '' } }, 'nodes{node="a"} 1'],
    [{ value: 1, labels: { node: '' } }, 'nodes 1'],
    [{ value: 1, more: { type: 'cpu' } }, 'nodes{type="cpu"} 1'],
    [{ value: 1, labels: { node: 'a' }, more: { type: 'cpu' } }, 'nodes{node="a",type="cpu"} 1'],
    [{ value: 1, labels: { node: 'a"b\\c\nd' } }, String.raw`nodes{node="a\"b\\c\nd"} 1`],
  ])('%j is shown as %s', async (sample, line) => expect(await linesOf(sample)).toEqual([line]));

  test('a source that ended is not shown, and one that came later stays', async () => {
    const gauges = new ScrapedGauges(definitions);
    const endFirst = gauges.show('nodes', () => [{ value: 1 }]);
    const endSecond = gauges.show('nodes', () => [{ value: 2 }]);
    endFirst();
    expect((await partsOf(gauges)).join('')).toMatch(/^nodes 2$/m);
    endSecond();
    expect((await partsOf(gauges)).join('')).not.toMatch(/^nodes \d/m);
  });

  test('a gauge that is not declared so is a bug', () =>
    expect(() => new ScrapedGauges(definitions).show('kept', () => [])).toThrow('kept'));

  test('a source that pauses gives other work its turn', async () => {
    const gauges = new ScrapedGauges(definitions);
    gauges.show('nodes', () => [{ value: 1 }, undefined, { value: 2 }]);
    const parts = await partsOf(gauges);
    expect(parts).toHaveLength(2);
    expect(parts[1]).toBe('nodes 2\n');
  });

  test('a large page comes in parts, and other work has its turn between them', async () => {
    const labels = { node: 'n'.repeat(1_000) };
    const gauges = new ScrapedGauges(definitions);
    gauges.show('nodes', () => Array.from({ length: 2_000 }, (_, value) => ({ value, labels })));
    let turns = 0;
    const turn = (): void => {
      turns += 1;
      ticking = setImmediate(turn);
    };
    let ticking = setImmediate(turn);
    const parts = await partsOf(gauges).finally(() => clearImmediate(ticking));
    expect(parts.length).toBeGreaterThan(5);
    expect(turns).toBeGreaterThan(0);
    expect(Math.max(...parts.map((part) => part.length))).toBeLessThan(300 * 1_024);
  });
});
