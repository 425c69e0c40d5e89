import { runMain } from '@dovetail/runtime';

import { consolidate } from './consolidate.js';
import { day } from './day.js';
import { differential } from './differential.js';
import { disruption } from './disruption.js';
import { givingWay } from './giving-way.js';
import { largestPod } from './largest-pod.js';
import { notices } from './notices.js';
import { planner } from './planner.js';
import { prices } from './prices.js';
import { scale } from './scale.js';
import { scaleup } from './scaleup.js';
import { settling } from './settle.js';
import { simulate } from './simulate.js';
import { solvers } from './solvers.js';
import { stores } from './stores.js';
import { timed } from './timed.js';

/**
 * Every benchmark by its name. Each prints a table and appends one JSON line to
 * bench/results/<name>.ndjson.
 */
const benchmarks: Readonly<Record<string, (args: readonly string[]) => Promise<void>>> = {
  consolidate,
  day,
  differential,
  disruption,
  'giving-way': givingWay,
  'largest-pod': largestPod,
  notices,
  planner,
  prices,
  scale,
  scaleup,
  settle: settling,
  simulate,
  solvers,
  stores,
};

const usage = `usage: npm run bench -- NAME [options]

  scaleup [--real] [--trials 100] [--pods 200,1000] [--solvers 1]
      from pods to NodeClaims: the latency of one pod, and of many at once
  scale [--real] [--nodes 5000] [--pods 50000] [--step 2500] [--pending 15000] [--notices 500]
        [--patience 600] [--preload FILE]
      many nodes: time to claims, memory, event-loop blocks, API calls, Spot notices at once
  stores [--nodes 5000] [--pods 50000]
      what each service holds of such a cluster: live memory, and the CPU time of passes over it
  day [--real] [--minutes 20] [--apps 30] [--seed N] [--by karpenter,dovetail,dovetail:delete]
      a compressed day of deployments, rollouts and Spot interruptions: dollars, waiting, evictions
  notices [--real] [--nodes 100] [--rate 1000] [--seconds 20]
      from a Spot notice to the taint, among so many other messages a second
  planner [--quick] [--only NAME] [--worlds 9] [--no-peer] [--list]
      how cheap and how fast plans are, beside Karpenter's scheduler
  consolidate [--nodes 50,200,500] [--budget 10] [--seed N]
      commands over aged clusters: the price they reach beside the lower bound, pods moved, seconds
  settle [--apps 40] [--hours 6] [--budget 10%] [--spread] [--modes all,search] [--seed 1]
      the wired services over an aged cluster in virtual time: where consolidation settles, when, and
      how many pods are evicted
  prices [--cases "small,plain 200,..."] [--worlds 6] [--budgets 0,1s,5s] [--bound-steps 600000] [--seed N]
      how far plans of the built command cost above the best lower bound, on new seeds
  differential [--worlds 1000] [--from 1]
      where Karpenter's plans of small random worlds are cheaper or fuller, and why
  disruption [--nodes 5000] [--pods 50000] [--budgets 500] [--seconds 30]
      how long disruption holds the event loop of a reaper, and what it asks
  giving-way [--nodes 500] [--out 51] [--pairs 30] [--gap]
      how long a batch of pending pods waits for a what-if, or for a plan from nothing (--gap)
  largest-pod [--pods 1000] [--bytes 1400000] [--only KIND]
      the processor time that one pod of the largest size adds to a batch, for each of its lists
  solvers [--pairs 5] [--batches 40] [--pods 300]
      whether two solver processes share the work of one
  simulate [--runs 15] [--pods 1000] [--rules plain|spread] [--budget 0]
      how long a user waits for a plan from manifests; every run must end with its answer
`;

await runMain(async () => {
  const [name = '', ...args] = process.argv.slice(2).filter((arg) => arg !== '--');
  const benchmark = benchmarks[name];
  if (benchmark !== undefined) return timed(name, args, () => benchmark(args));
  process.stdout.write(usage);
  process.exitCode = name === '' || name === 'help' ? 0 : 64;
});
