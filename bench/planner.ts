import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { highsSolver } from '@dovetail/adapter-highs';
import { costCases, costRow, type CostRow } from './planner/cost.js';
import { existingRow, type ExistingRow } from './planner/existing.js';
import { buildPeer } from './planner/peer.js';
import { markdownOf } from './planner/report.js';
import { speedCases, speedRow, type SpeedRow } from './planner/speed.js';

const results = new URL('./results/', import.meta.url);
const tell = (text: string): void => { process.stderr.write(text); };

/** Everything that one run measured. */
export type PlannerResults = {
  readonly at: string;
  readonly cpus: number;
  readonly loadBefore: number;
  readonly quick: boolean;
  readonly cost: readonly CostRow[];
  readonly speed: readonly SpeedRow[];
  readonly existing: readonly ExistingRow[];
};

/**
 * How cheap and how fast plans are: cost over the best lower bound at the budgets aimed at, and the first plan's speed
 * beside Karpenter's own scheduler, each plan proven by the checker.
 */
export async function planner(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: {
    quick: { type: 'boolean', default: false }, only: { type: 'string', default: '' }, worlds: { type: 'string', default: '9' }, 'no-peer': { type: 'boolean', default: false },
  } });
  const peer = !values['no-peer'] && (await buildPeer(tell));
  const wanted = (name: string): boolean => values.only === '' || values.only.split(',').some((one) => name === one || name.startsWith(`${one} `) || name.startsWith(`${one},`));
  const what = { quick: values.quick, worlds: values.quick ? 1 : Number(values.worlds), peer, tell };
  const lp = highsSolver();
  const [loadBefore = 0] = loadavg();
  const cost: CostRow[] = [];
  const speed: SpeedRow[] = [];
  try {
    for (const one of speedCases(what.quick)) if (wanted(one.name)) speed.push(await speedRow(one, what));
    for (const one of costCases(what.quick)) if (wanted(one.name)) cost.push(await costRow(one, { ...what, lp }));
  } finally {
    await lp.close();
  }
  const existing = !what.quick && wanted('existing') ? [existingRow()] : [];
  await keep(values.only === '' && !values.quick, { at: new Date().toISOString(), cpus: cpus().length, loadBefore, quick: values.quick, cost, speed, existing });
}

/** Every run is kept as a line; only a whole one becomes the table that readers see. */
async function keep(isWhole: boolean, measured: PlannerResults): Promise<void> {
  const text = markdownOf(measured);
  process.stdout.write(`${text}\n`);
  await mkdir(results, { recursive: true });
  await appendFile(new URL('planner.ndjson', results), `${JSON.stringify(measured)}\n`);
  if (isWhole) await writeFile(new URL('planner.md', results), text);
}
