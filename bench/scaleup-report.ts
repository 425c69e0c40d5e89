import Table from 'cli-table3';

import { keepRun, markdown, writePage } from './kept.js';
import type { Many, ScaleupResults } from './scaleup.js';

/** Targets in milliseconds. */
const targets = { oneP50: 200, oneP99: 500, manyClaims: 1_000 } as const;

const ms = (value: number): string => `${Math.round(value).toLocaleString('en-US')} ms`;
const against = (value: number, targetMs: number): string =>
  `≤ ${ms(targetMs)}: ${value <= targetMs ? 'met' : 'missed'}`;

function manyRows({ pods, ...many }: Many): readonly (readonly string[])[] {
  return [
    [`${pods} pods: created in`, ms(many.createdMs), ''],
    [
      `${pods} pods: the scheduler's last verdict after the last pod`,
      ms(many.judgedAfterLastPodMs),
      '',
    ],
    [`${pods} pods: first claim after the deployment`, ms(many.firstClaimMs), ''],
    [
      `${pods} pods: ${many.claims} claims, the last after the last pod`,
      ms(many.claimsAfterLastPodMs),
      against(many.claimsAfterLastPodMs, targets.manyClaims),
    ],
    [`${pods} pods: all bound`, ms(many.boundMs), ''],
    [`${pods} pods: all running`, ms(many.runningMs), ''],
  ];
}

const rowsOf = ({ one, many }: ScaleupResults): readonly (readonly string[])[] => [
  [`one pod → NodeClaim, p50 of ${one.trials}`, ms(one.p50), against(one.p50, targets.oneP50)],
  [`one pod → NodeClaim, p99 of ${one.trials}`, ms(one.p99), against(one.p99, targets.oneP99)],
  [`one pod → NodeClaim, the slowest`, ms(one.most), ''],
  ...many.flatMap(manyRows),
];

/** One run as text for a terminal. */
export function tableOf(run: ScaleupResults): string {
  const table = new Table({ head: [`scaleup, ${run.world} world`, 'measured', 'target'] });
  table.push(...rowsOf(run).map((row) => [...row]));
  return table.toString();
}

/**
 * Keeps the run as a line and writes the page of all runs: the newest of each world in full, then
 * one row for each.
 */
export const keep = async (run: ScaleupResults): Promise<void> =>
  writePage('scaleup', pageOf(await keepRun('scaleup', run)));

const circumstances = (run: ScaleupResults): string =>
  `${run.at}, ${run.cpus} CPUs for everything, load ${run.loadBefore.toFixed(1)} before, solvers: ${run.solvers}`;

const preamble = [
  '# From pods to NodeClaims, measured',
  '',
  '`npm run bench -- scaleup [--real]` writes this page, with all settings at their defaults. In the real world Kubernetes is kube-apiserver, etcd, kube-scheduler and',
  'kube-controller-manager; EC2 and the kubelets are always twins. Everything shares the machine, the benchmark included.',
  '',
];

/** The newest run of a world, with its circumstances. */
const newestOf = (
  runs: readonly ScaleupResults[],
  world: ScaleupResults['world'],
): readonly string[] =>
  runs
    .filter((run) => run.world === world)
    .slice(-1)
    .flatMap((run) => [
      `## ${run.world === 'real' ? 'Real control plane' : 'Twins'}`,
      '',
      `${circumstances(run)}.`,
      '',
      markdown(['', 'measured', 'target'], rowsOf(run)),
      '',
    ]);

function everyRun(runs: readonly ScaleupResults[]): string {
  const sizes = [...new Set(runs.flatMap((run) => run.many.map(({ pods }) => pods)))].toSorted(
    (a, b) => a - b,
  );
  const claimsOf = (run: ScaleupResults, pods: number): string => {
    const found = run.many.find((many) => many.pods === pods);
    return found === undefined ? '-' : ms(found.claimsAfterLastPodMs);
  };
  const titles = sizes.map((pods) => `${pods} pods: last claim after the last pod`);
  return markdown(
    ['at', 'world', 'load before', 'one pod, p50', 'p99', ...titles],
    runs.map((run) => [
      run.at,
      run.world,
      run.loadBefore.toFixed(1),
      ms(run.one.p50),
      ms(run.one.p99),
      ...sizes.map((pods) => claimsOf(run, pods)),
    ]),
  );
}

const pageOf = (runs: readonly ScaleupResults[]): string =>
  [
    ...preamble,
    ...newestOf(runs, 'real'),
    ...newestOf(runs, 'twin'),
    '## Every run',
    '',
    everyRun(runs),
    '',
  ].join('\n');
