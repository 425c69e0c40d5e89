import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { SimulationResult } from '../result.js';
import { runSimulate } from '../run.js';

// Each case is a file of manifests and the plan that is right for it. They are planned without a
// budget, so that the first plan itself must be right.
const folder = join(import.meta.dirname, '../../../../../tests/planner-cases');

const listed = (pods: readonly string[]): string =>
  pods.length > 12
    ? `${pods.length} pods`
    : pods.map((pod) => pod.replace(/^default\//, '')).join(' ');

function leftOut({ unschedulable }: SimulationResult): readonly string[] {
  const byCodes = new Map<string, string[]>();
  for (const { pod, reasons } of unschedulable) {
    const codes = [...new Set(reasons.map(({ code }) => code))].join(', ');
    byCodes.set(codes, [...(byCodes.get(codes) ?? []), pod]);
  }
  return [...byCodes].map(([codes, pods]) => `left out (${codes}): ${listed(pods)}`);
}

/** A plan in a few lines: new nodes, pods on nodes that exist, and pods that are left out. */
const linesOf = (result: SimulationResult): readonly string[] => [
  ...result.newNodes.map(({ instanceTypes: [type = ''], zones, price, pods }) => {
    const where = zones.map((zone) => zone.replace('test-zone-', '')).join('|');
    return `$${price.toFixed(4)} ${type} in ${where}: ${listed(pods)}`;
  }),
  ...result.existingNodes.map(({ name, pods }) => `${name}: ${listed(pods)}`),
  ...leftOut(result),
];

export async function planned(file: string): Promise<readonly string[]> {
  const path = join(folder, `${file}.yaml`);
  let out = '';
  let err = '';
  await runSimulate(
    {
      paths: [path],
      // Cases with real zones are about real types.
      catalog: readFileSync(path, 'utf8').includes('us-east-1')
        ? 'us-east-1'
        : join(folder, 'catalog.json'),
      output: 'json',
      budgetMs: 0,
      boundSteps: 0,
      seed: 1,
      hostnameSpread: 'balanced',
      preferences: 'Respect',
    },
    {
      out: (text) => {
        out += text;
      },
      err: (text) => {
        err += text;
      },
      progress: () => undefined,
    },
  );
  return out === '' ? [err] : linesOf(JSON.parse(out) as SimulationResult);
}

/** A file of tests/planner-cases, the expectation in words, and the plan in lines. */
export type Case = readonly [file: string, expectation: string, lines: readonly string[]];
