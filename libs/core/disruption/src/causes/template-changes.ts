import type { NodeClaim, Pool } from '@dovetail/core-api';
import { lookUp } from '@dovetail/core-invariant';
import { compareText, formatDuration, type Taint } from '@dovetail/core-kube-model';

/** A field of a template as a claim has it, and as its pool has it now. */
type Compared = readonly [what: string, held: string, wanted: string];

const taintsText = (taints: readonly Taint[]): string => {
  const texts = taints.map(({ key, value, effect }) => `${key}=${value}:${effect}`);
  return texts.length === 0 ? 'none' : texts.sort(compareText).join(', ');
};
const timeText = (ms: number | undefined, unset: string): string =>
  ms === undefined ? unset : formatDuration(ms);
const classText = ({ kind, name }: Pool['classRef']): string => `${kind}/${name}`;

function labelsOf(claim: NodeClaim, pool: Pool): readonly Compared[] {
  return Object.entries(pool.labels)
    .sort(([a], [b]) => compareText(a, b))
    .map(([key, wanted]) => [`label ${key}`, lookUp(claim.labels, key) ?? 'not set', wanted]);
}

/**
 * The first field of its pool's template that a claim was made with and that is another one now,
 * such as `label team is blue, and is red now`. Undefined if none is found. A label that was taken
 * away, and annotations, leave no trace on the claim.
 */
export function templateChange(claim: NodeClaim, pool: Pool): string | undefined {
  const fields: readonly Compared[] = [
    ['nodeClassRef', classText(claim.classRef), classText(pool.classRef)],
    ...labelsOf(claim, pool),
    ['taints', taintsText(claim.taints), taintsText(pool.taints)],
    ['startupTaints', taintsText(claim.startupTaints), taintsText(pool.startupTaints)],
    ['expireAfter', timeText(claim.expireAfterMs, 'Never'), timeText(pool.expireAfterMs, 'Never')],
    [
      'terminationGracePeriod',
      timeText(claim.terminationGracePeriodMs, 'not set'),
      timeText(pool.terminationGracePeriodMs, 'not set'),
    ],
  ];
  const changed = fields.find(([, held, wanted]) => held !== wanted);
  if (changed === undefined) return undefined;
  const [what, held, wanted] = changed;
  return `${what}: ${held}, and ${wanted} now`;
}
