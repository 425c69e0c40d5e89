import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';

import { highsSolver } from '@dovetail/adapter-highs';

import { budgetCases, budgetRow } from './planner/budget.js';
import { costCases, costRow } from './planner/cost.js';
import { curveCases, curveRow } from './planner/curve.js';
import { existingCases, existingRow } from './planner/existing.js';
import { buildPeer } from './planner/peer.js';
import { keep, type Measured } from './planner/record.js';
import { markdownOf } from './planner/report.js';
import { sizesCases, sizesRow } from './planner/sizes.js';
import { speedCases, speedRow } from './planner/speed.js';

type What = {
  readonly quick: boolean;
  readonly worlds: number;
  readonly peer: boolean;
  readonly lp: ReturnType<typeof highsSolver>;
  readonly tell: (text: string) => void;
};
type Case = {
  readonly name: string;
  readonly measure: () => Promise<Measured['row']> | Measured['row'];
};

/** Every row, the quickest kinds first. `--only` takes their names. */
function casesOf(what: What): readonly Case[] {
  return [
    ...speedCases(what.quick).map((one) => ({
      name: one.name,
      measure: () => speedRow(one, what),
    })),
    ...costCases(what.quick).map((one) => ({ name: one.name, measure: () => costRow(one, what) })),
    ...sizesCases(what.quick).map((one) => ({
      name: one.name,
      measure: () => sizesRow(one, what),
    })),
    ...budgetCases(what.quick).map((one) => ({ name: one.name, measure: () => budgetRow(one) })),
    ...curveCases(what.quick).map((one) => ({ name: one.name, measure: () => curveRow(one) })),
    ...existingCases(what.quick).map((one) => ({
      name: one.name,
      measure: () => existingRow(one),
    })),
  ];
}

/**
 * `--only plain` selects every row whose name begins so. Commas separate several, as in `--only
 * "plain 200,existing"`.
 */
const isWanted = (only: string, name: string): boolean =>
  only === '' ||
  only.split(',').some((one) => name === one.trim() || name.startsWith(`${one.trim()} `));

const plannerFlags = {
  quick: { type: 'boolean', default: false },
  only: { type: 'string', default: '' },
  worlds: { type: 'string', default: '9' },
  'no-peer': { type: 'boolean', default: false },
  list: { type: 'boolean', default: false },
} as const;

/**
 * Measures the cases one after another. Each row is kept at once, so an interrupted run still
 * counts.
 */
async function measuredAll(cases: ReturnType<typeof casesOf>, what: What): Promise<Measured[]> {
  const measured: Measured[] = [];
  for (const one of cases) {
    what.tell(`${one.name}\n`);
    const [load = 0] = loadavg();
    const row = await one.measure();
    const at = new Date().toISOString();
    const kept: Measured = { at, cpus: cpus().length, load, quick: what.quick, row };
    await keep(kept);
    measured.push(kept);
  }
  return measured;
}

/**
 * Measures the price and the speed of plans: the cost over the best lower bound at several budgets,
 * and first plans beside Karpenter's scheduler. The checker proves each plan.
 */
export async function planner(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: plannerFlags });
  const tell = (text: string): void => {
    process.stderr.write(text);
  };
  const lp = highsSolver();
  const what: What = {
    quick: values.quick,
    worlds: values.quick ? 1 : Number(values.worlds),
    peer: !values['no-peer'] && !values.list && (await buildPeer(tell)),
    lp,
    tell,
  };
  const cases = casesOf(what).filter((one) => isWanted(values.only, one.name));
  if (values.list) return void process.stdout.write(cases.map((one) => `${one.name}\n`).join(''));
  try {
    process.stdout.write(`${markdownOf(await measuredAll(cases, what))}\n`);
  } finally {
    await lp.close();
  }
}
