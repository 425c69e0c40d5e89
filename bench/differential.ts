import { parseArgs } from 'node:util';

import type { Difference } from './differential/compare.js';
import { differencesIn } from './differential/run.js';
import { buildPeer } from './planner/peer.js';

/**
 * Plans small random worlds with Karpenter's scheduler too, and prints where its plans are cheaper
 * or place more pods, by reason.
 */
export async function differential(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      worlds: { type: 'string', default: '1000' },
      from: { type: 'string', default: '1' },
    },
  });
  if (!(await buildPeer((text) => process.stderr.write(text)))) {
    process.exitCode = 1;
    return;
  }
  const [count, from] = [Number(values.worlds), Number(values.from)];
  const found = await differencesIn(Array.from({ length: count }, (_, index) => from + index));
  const byReason = new Map<string, Difference[]>();
  for (const one of found) {
    const reason = `${one.what}: ${one.reason ?? 'no reason known'}`;
    byReason.set(reason, [...(byReason.get(reason) ?? []), one]);
  }
  process.stdout.write(`${found.length} of ${count} worlds from seed ${from} on differ\n`);
  for (const [reason, differences] of byReason) {
    process.stdout.write(`\n${reason} (${differences.length})\n`);
    for (const { world, ours, theirs } of differences)
      process.stdout.write(`  ${world}: here ${ours}; Karpenter ${theirs}\n`);
  }
}
