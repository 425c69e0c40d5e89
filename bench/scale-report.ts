import Table from 'cli-table3';

import { keepRun, markdown, writePage } from './kept.js';
import type { Use } from './sampled.js';
import type { Notices, Phase, ScaleResults } from './scale.js';

/** Targets at 5,000 nodes and 50,000 pods. */
const targets = { lastClaimMs: 2_000, blockMs: 200, taintedMs: 10_000, goneMs: 120_000 } as const;
const rssMbMax: Readonly<Record<string, number>> = {
  launcher: 512,
  reaper: 512,
  'pod-watcher': 400,
  'solver-0': 400,
};

const number = (value: number): string => Math.round(value).toLocaleString('en-US');
const against = (value: number, target: number): string =>
  `≤ ${number(target)}: ${value <= target ? 'met' : 'missed'}`;

/** A phase as one line of progress. */
export const lineOf = (phase: Phase): string =>
  `${phase.name}: ${number(phase.tookMs)} ms, ${phase.running} of ${phase.pods} run, ${phase.nodes} nodes, ${phase.claims} claims, the last ${number(phase.lastClaimAfterLastPodMs)} ms after the last pod, load ${phase.load.toFixed(1)}; ${Object.entries(
    phase.use,
  )
    .map(([part, use]) => `${part} ${use.rssMb} MB${blockText(use)}`)
    .join(', ')}`;

const blockText = ({ blockMs, heldMs }: Use): string =>
  blockMs === undefined ? '' : ` ${blockMs} ms (held ${heldMs ?? '?'})`;

const phaseHead = [
  'phase',
  'took ms',
  'run',
  'nodes',
  'claims',
  'last claim after last pod ms',
  'load',
];
const phaseRows = ({ phases }: ScaleResults): readonly (readonly string[])[] =>
  phases.map((phase) => [
    phase.name,
    number(phase.tookMs),
    `${phase.running} of ${phase.pods}`,
    String(phase.nodes),
    String(phase.claims),
    phase.name.endsWith('more')
      ? `${number(phase.lastClaimAfterLastPodMs)} (${against(phase.lastClaimAfterLastPodMs, targets.lastClaimMs)})`
      : number(phase.lastClaimAfterLastPodMs),
    phase.load.toFixed(1),
  ]);

const useHead = [
  'part',
  'peak RSS MB',
  'target',
  'longest block ms',
  'held by own work ms',
  'target',
  'in phase',
  'CPU s',
  'waited for a CPU s',
  'API calls',
  'most per second',
];

/** The use of one part over all phases. */
function useRow(part: string, phases: readonly Phase[]): readonly string[] {
  const uses = phases.flatMap(({ name, use }) => {
    const of = use[part];
    return of === undefined ? [] : [{ name, ...of }];
  });
  const most = (of: (use: Use) => number | undefined): number =>
    Math.max(0, ...uses.map((use) => of(use) ?? 0));
  const sum = (of: (use: Use) => number | undefined): number =>
    uses.reduce((total, use) => total + (of(use) ?? 0), 0);
  const rssMb = most((use) => use.rssMb);
  const rssTarget = rssMbMax[part];
  const head = [part, number(rssMb), rssTarget === undefined ? '' : against(rssMb, rssTarget)];
  // Runs of before have no CPU time of twins.
  const isCpuKnown = uses.some(({ cpuSeconds }) => cpuSeconds !== undefined);
  const cpu = [
    isCpuKnown ? number(sum((use) => use.cpuSeconds)) : '',
    number(sum((use) => use.waitedSeconds)),
  ];
  if (uses.every(({ blockMs }) => blockMs === undefined))
    return [...head, '', '', '', '', ...cpu, '', ''];
  // Runs of before have no such metric, so their whole blocks count.
  const ownOf = ({ heldMs, blockMs }: Use): number | undefined => heldMs ?? blockMs;
  const own = most(ownOf);
  return [
    ...head,
    number(most((use) => use.blockMs)),
    uses.every(({ heldMs }) => heldMs === undefined) ? '' : number(own),
    against(own, targets.blockMs),
    uses.find((use) => ownOf(use) === own)?.name ?? '',
    ...cpu,
    number(sum((use) => use.calls)),
    number(most((use) => use.callsPerSecondMost)),
  ];
}

const useRows = ({ phases }: ScaleResults): readonly (readonly string[])[] =>
  [...new Set(phases.flatMap(({ use }) => Object.keys(use)))].map((part) => useRow(part, phases));

function noticesText(notices: Notices): string {
  const { tainted, gone, sentMs, allTaintedMs, allGoneMs } = notices;
  // A target is for all of the nodes, not for those that came so far.
  const of = (done: number, ms: number, target: number): string =>
    done < notices.number ? `≤ ${number(target)}: missed` : against(ms, target);
  const marked = of(tainted, allTaintedMs, targets.taintedMs);
  const ended = of(gone, allGoneMs, targets.goneMs);
  return `${notices.number} Spot notices in ${number(sentMs)} ms: ${tainted} nodes tainted, the last after ${number(allTaintedMs)} ms (${marked}); ${gone} gone, the last after ${number(allGoneMs)} ms (${ended}).`;
}

const tailOf = ({ notices, endedEarly }: ScaleResults): readonly string[] => [
  ...(notices === undefined ? [] : [noticesText(notices), '']),
  ...(endedEarly === undefined
    ? []
    : [`The run ended early: the phase "${endedEarly}" was too slow.`, '']),
];

/** One run as text for a terminal. */
export function tableOf(run: ScaleResults): string {
  const tables = [
    { head: phaseHead, rows: phaseRows(run) },
    { head: useHead, rows: useRows(run) },
  ].map(({ head, rows }) => {
    const table = new Table({ head });
    table.push(...rows.map((row) => [...row]));
    return table.toString();
  });
  return [...tables, ...tailOf(run)].join('\n');
}

/** Keeps the run as a line and writes the page of the newest run of each size. */
export const keep = async (run: ScaleResults): Promise<void> =>
  writePage('scale', pageOf(await keepRun('scale', run)));

const preamble = [
  '# Many nodes, measured',
  '',
  '`npm run bench -- scale [--real]` writes this page, with all settings at their defaults. EC2 and the kubelets are always twins.',
  'Everything shares the machine, the benchmark included. Blocks are `nodejs_eventloop_lag_max_seconds`: on a loaded machine they',
  'also contain the time in which the main thread waited for a CPU, which has its own column. The part that the own work of the service took is',
  '`dovetail_event_loop_held_max_seconds`; the target is for it. API calls are calls of the services, without watches and Leases.',
  '',
];

const sectionOf = (run: ScaleResults): readonly string[] => [
  `## ${run.world === 'real' ? 'Real control plane' : 'Twins'}: ${number(run.nodes)} nodes, ${number(run.pods)} pods`,
  '',
  `${run.at}, ${run.cpus} CPUs for everything, load ${run.loadBefore.toFixed(1)} before.`,
  '',
  markdown(phaseHead, phaseRows(run)),
  '',
  markdown(useHead, useRows(run)),
  '',
  ...tailOf(run),
];

/** The newest run of each world and size, the largest first. */
function pageOf(runs: readonly ScaleResults[]): string {
  const newest = new Map(runs.map((run) => [`${run.world} ${run.nodes} ${run.pods}`, run]));
  const largestFirst = [...newest.values()].toSorted((a, b) => b.pods - a.pods);
  return [...preamble, ...largestFirst.flatMap(sectionOf)].join('\n');
}
