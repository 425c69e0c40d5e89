import Table from 'cli-table3';

import type { DayResults, Kept } from '../day.js';
import { keepRun, markdown, writePage } from '../kept.js';

const head = [
  'kept by',
  '$ of instances',
  'pod-seconds pending',
  'pod bound, p50, p90',
  'pod running, p50, p90',
  'evictions',
  'pods lost',
  'instances',
  'most at once',
  'pending at the end',
];

const count = (value: number): string => value.toLocaleString('en-US');

/** A figure and, beside another keeper's, its share of that one's. */
const beside = (text: string, value: number, other: number | undefined): string =>
  other === undefined || other === 0 ? text : `${text} (${(value / other).toFixed(2)} ×)`;

function rowOf(kept: Kept, first: Kept | undefined): string[] {
  const other = first === kept ? undefined : first;
  return [
    kept.by,
    beside(kept.dollars.toFixed(3), kept.dollars, other?.dollars),
    beside(count(kept.podSecondsPending), kept.podSecondsPending, other?.podSecondsPending),
    `${count(kept.boundMs.p50)}, ${count(kept.boundMs.p90)} ms`,
    `${count(kept.runningMs.p50)}, ${count(kept.runningMs.p90)} ms`,
    beside(count(kept.evictions), kept.evictions, other?.evictions),
    count(kept.lost),
    count(kept.instances),
    count(kept.instancesMost),
    count(kept.pendingAtEnd),
  ];
}

const rowsOf = ({ kept }: DayResults): string[][] => kept.map((one) => rowOf(one, kept[0]));

/** One run as text for a terminal. */
export function tableOf(run: DayResults): string {
  const table = new Table({ head: [...head] });
  table.push(...rowsOf(run));
  return table.toString();
}

const sectionOf = (run: DayResults): readonly string[] => [
  `## ${run.at}: ${run.world === 'real' ? 'real control plane' : 'twins'}, seed ${run.seed}`,
  '',
  `${run.minutes} minutes, ${run.apps} apps, ${run.cpus} CPUs for everything, load ${run.loadBefore.toFixed(1)} before.`,
  '',
  markdown(head, rowsOf(run)),
  '',
];

const preamble = [
  '# A day of a cluster, measured',
  '',
  '`npm run bench -- day [--real]` writes this page. A day of deployments that grow and shrink, rollouts and a wave of Spot interruptions is',
  'compressed into minutes and replayed under each keeper. `dovetail:delete` is Dovetail with `CONSOLIDATION=delete`. In brackets: the share of',
  'the first row. EC2 and the kubelets are twins; a node is ready within a second of its launch.',
  '',
];

/** Keeps the run as a line, and writes the page of all runs, the newest first. */
export const keep = async (run: DayResults): Promise<void> => {
  const runs = await keepRun('day', run);
  const page = [...preamble, ...runs.toReversed().flatMap(sectionOf)];
  await writePage('day', `${page.join('\n').trimEnd()}\n`);
};
