import { kubeResources } from '@dovetail/core-ports';
import { catalogTypes } from '@dovetail/sim-cloud';
import { region } from '@dovetail/sim-stage';

import { agentConditions } from '../health-commands.js';
import { serviceNames } from '../services.js';
import { nodesOn, poolOf } from './facts.js';
import { faultMoves, zones } from './fault-moves.js';
import type { Hand, Move } from './hand.js';
import { cordon, deleted, teams } from './user-moves.js';
import type { World } from './world.js';

const families = [
  ...(['c5', 'c5a', 'c6a', 'c6i', 'c7i', 'm5'] as const),
  ...(['m5a', 'm6a', 'm6i', 'm7i', 'r5', 'r6i'] as const),
] as const;
const sizes = ['large', 'xlarge', '2xlarge', '4xlarge'] as const;
const names: ReadonlySet<string> = new Set(
  families.flatMap((family) => sizes.map((size) => `${family}.${size}`)),
);

const pools = ['spot', 'steady', 'both'] as const;
const budgetsOf = {
  spot: ['1', '2', '50%', '100%'],
  steady: ['1', '20%', '2', '0'],
  both: ['1', '2', '34%', '100%'],
} as const;
const policies = ['WhenEmptyOrUnderutilized', 'Balanced', 'WhenEmpty'] as const;

/** An app: the pool of its pods, none for the cheapest, and the fewest that it is scaled to. */
const apps = {
  web: { pool: '' },
  api: { pool: 'steady' },
  job: { pool: 'spot' },
  db: { pool: 'both' },
  big: { pool: '' },
} as const;
type App = keyof typeof apps;
const appNames = Object.keys(apps) as readonly App[];
const rolling: App = 'web';
const cpus = ['0.5', '1', '2', '4'] as const;
const budgetMin = 2;

function scaleTo(hand: Hand, app: App, count: number): string {
  const cpu = hand.sizes.get(app) ?? hand.one(cpus);
  hand.sizes.set(app, cpu);
  const verb = app === rolling ? 'deploy' : 'scale';
  const { pool } = apps[app];
  const where = pool === '' ? '' : ` pool=${pool}`;
  return `${verb} ${app} ${String(count)} cpu=${cpu}${where}`;
}

/** An owner that scales an app below its budget breaks it without us. */
const fewest = (hand: Hand, app: App): number => (hand.budgets.has(app) ? budgetMin + 1 : 0);

/** An app grows and falls, so that its nodes are under-used. */
function wave(hand: Hand): readonly string[] {
  const app = hand.one(appNames);
  const least = fewest(hand, app);
  return [
    scaleTo(hand, app, hand.between(least + 4, least + 9)),
    `run ${String(hand.between(90, 200))}s`,
    scaleTo(hand, app, hand.between(least + 1, least + 3)),
    `run ${String(hand.between(60, 200))}s`,
  ];
}

/** A disruption budget comes, blocks for a while, or goes. */
function protect(hand: Hand): readonly string[] {
  const app = hand.one(appNames);
  if (!hand.sizes.has(app)) return [];
  if (hand.budgets.has(app) && hand.happens(0.4)) {
    hand.budgets.delete(app);
    return [`budget ${app} none`];
  }
  const isNew = !hand.budgets.has(app);
  hand.budgets.add(app);
  const few = `budget ${app} at least ${String(budgetMin)}`;
  return [
    ...(isNew ? [scaleTo(hand, app, budgetMin + 2), 'run 1m', few] : []),
    `budget ${app} at least 30`,
    `run ${String(hand.between(2, 9))}m`,
    few,
  ];
}

/** One pod may not be moved for a while. */
function keepPod(hand: Hand): readonly string[] {
  const app = hand.one(appNames);
  return hand.sizes.has(app)
    ? [`protect ${app}`, `run ${String(hand.between(2, 8))}m`, `unprotect ${app}`]
    : [];
}

/** Somebody leaves the taint of a retirement on a node, or takes one off. */
function taintNode(hand: Hand): readonly string[] {
  const name = hand.named('node', hand.stage.names(kubeResources.nodes));
  return name === undefined ? [] : [`${hand.one(['taint', 'taint', 'untaint'])} ${name}`, 'run 3m'];
}

/** Nodes of a pool drift together, while the reaper hears late of what it has begun. */
function driftUnseen(hand: Hand): readonly string[] {
  const inUse = pools.filter((pool) => nodesOn(hand.stage).some((node) => poolOf(node) === pool));
  if (inUse.length === 0) return [];
  return [
    `label pool ${hand.one(inUse)} ${hand.one(teams)}`,
    `run ${String(hand.between(1, 12))}s`,
    'watches of reaper stall',
    `run ${String(hand.between(15, 45))}s`,
    'watches of reaper go on',
  ];
}

/** The first pods of all pools come, and most of them go. */
function crowd(hand: Hand): readonly string[] {
  const ups = appNames.map((app) => scaleTo(hand, app, hand.between(4, 8)));
  const downs = appNames.map((app) => scaleTo(hand, app, hand.between(1, 3)));
  return [...ups, 'run 2m', ...downs, `run ${String(hand.between(120, 240))}s`];
}

function setPool(hand: Hand): readonly string[] {
  const pool = hand.one(pools);
  return [
    hand.one([
      `set pool ${pool} budget=${hand.one(budgetsOf[pool])}`,
      `set pool ${pool} policy=${hand.one(policies)}`,
      `limit pool both ${hand.one(['cpu=16', 'cpu=48', 'none'])}`,
      `label pool ${pool} ${hand.one(teams.slice(0, 2))}`,
    ]),
  ];
}

/** Prices move by up to 60 %: those of a pool, of a family, or of the whole market. */
function prices(hand: Hand): readonly string[] {
  const factor = hand.one(['0.4x', '0.6x', '0.8x', '1x', '1.2x', '1.6x']);
  return [
    hand.one([
      `spot ${hand.one(families)} costs ${factor}`,
      `spot ${hand.one(families)} costs ${factor}`,
      `spot ${hand.one(families)}.${hand.one(sizes)}@${hand.one(zones)} costs ${factor}`,
      `all spot costs ${factor}`,
    ]),
  ];
}

const users: readonly Move[] = [
  { weight: 12, lines: wave },
  { weight: 4, lines: (hand) => [scaleTo(hand, hand.one(appNames), hand.between(3, 6))] },
  { weight: 6, lines: prices },
  { weight: 3, lines: protect },
  { weight: 3, lines: setPool },
  { weight: 2, lines: (hand) => (hand.sizes.has(rolling) ? [`rollout ${rolling}`] : []) },
  { weight: 1, lines: keepPod },
  { weight: 2, lines: taintNode },
  { weight: 2, lines: driftUnseen },
  { weight: 1, lines: cordon },
  { weight: 1, lines: (hand) => deleted(hand, 'claim') },
  { weight: 4, lines: () => ['run 4m'] },
];

/** The leader cannot renew its Lease for a minute, so the other replica takes over. */
function leaseless(hand: Hand): readonly string[] {
  const service = hand.one(['launcher', 'reaper', 'pod-watcher'] as const);
  const replica = hand.one([service, `${service}-b`]);
  const current = hand.replicas.get(service) ?? replica;
  return [`lease writes of ${current} fail`, 'run 60s', `lease writes of ${current} go on`];
}

/** After a wave, what is bought for under-used nodes never becomes a node. */
const bootless = (hand: Hand): readonly string[] => [
  ...wave(hand).slice(0, -1),
  'machines do not join',
  `run ${String(hand.between(3, 14))}m`,
  'machines join',
];

/** One of two replicas gets no CPU for longer than its Lease, and goes on where it was. */
function pauseOne(hand: Hand): readonly string[] {
  const service = hand.one(serviceNames);
  const replica = hand.replicas.get(service) ?? service;
  return [`pause ${replica}`, `run ${String(hand.between(20, 60))}s`, `wake ${replica}`];
}

const faults: readonly Move[] = [
  { weight: 2, lines: leaseless },
  { weight: 2, lines: pauseOne },
  { weight: 1, lines: bootless },
  ...faultMoves.map(({ weight, lines }) => ({ weight: weight / 3, lines })),
];

/** The effects of a reaper that carries out a command. */
const commandEffects = [
  'create disruptions',
  'patch disruptions/status',
  'patch nodeclaims',
  'publish plan',
] as const;

/** A reaper dies around an effect of a command, once a wave makes one worth while. */
function dieInCommand(hand: Hand): readonly string[] {
  const { old, fresh } = hand.replaced('reaper');
  const around = `${hand.one(['before', 'after'])} ${hand.one(commandEffects)}`;
  return [`start reaper as ${fresh}`, `kill ${old} ${around}`, ...wave(hand)];
}

/** Somebody deletes a command. */
function deleteCommand(hand: Hand): readonly string[] {
  const name = hand.named('command', hand.stage.names(kubeResources.disruptions));
  return name === undefined ? [] : [`delete command ${name}`];
}

/** One node may not be disrupted for a while. */
function keepNode(hand: Hand): readonly string[] {
  const name = hand.named('node', hand.stage.names(kubeResources.nodes));
  return name === undefined
    ? []
    : [`protect node ${name}`, `run ${String(hand.between(2, 20))}m`, `unprotect node ${name}`];
}

/** A machine breaks, or an agent on it says so, for a while or until it is repaired. */
function breakNode(hand: Hand): readonly string[] {
  const { stage } = hand;
  const length = `run ${String(hand.between(3, 50))}m`;
  if (hand.happens(0.5)) {
    const id = hand.named('i', stage.runningInstances());
    return id === undefined ? [] : [`checks of ${id} fail`, length, `checks of ${id} pass`];
  }
  const name = hand.named('node', stage.names(kubeResources.nodes));
  const condition = `${hand.one(agentConditions)} of ${String(name)} is`;
  return name === undefined ? [] : [`${condition} False`, length, `${condition} True`];
}

/** A type that machines do not boot from, as when its image lacks a driver. */
function brokenType(hand: Hand): readonly string[] {
  const type = `${hand.one(families)}.${hand.one(sizes)}`;
  return [
    `machines of ${type} do not join`,
    ...wave(hand),
    `run ${String(hand.between(5, 40))}m`,
    `machines of ${type} join`,
  ];
}

const more: readonly Move[] = [
  { weight: 2, lines: dieInCommand },
  { weight: 2, lines: deleteCommand },
  { weight: 1, lines: keepNode },
  { weight: 2, lines: breakNode },
  { weight: 1, lines: brokenType },
];

/** Two replicas of each service, of which one leads. */
const seconds = serviceNames.map((service) => `start ${service} as ${service}-b`);

const beginning = (hand: Hand): readonly string[] => [
  `settings consolidation=${hand.one(['all', 'all', 'search'])} spot-to-spot=${hand.one(['yes', 'yes', 'no'])} prices=10m`,
  'repair is on',
  'class default',
  'app db has volumes',
  `pool spot capacity=spot types=any consolidate=30s budget=${hand.one(budgetsOf.spot)}`,
  `pool steady capacity=on-demand types=any consolidate=30s policy=${hand.one(policies.slice(0, 2))} budget=${hand.one(budgetsOf.steady.slice(0, 3))}`,
  `pool both capacity=on-demand,spot types=any consolidate=1m grace=5m limit=64 budget=${hand.one(budgetsOf.both)}`,
  'start services',
  ...seconds,
  ...(['pod-watcher', 'launcher', 'reaper'] as const).map(
    (service) => `kube spoils 1 in 33 calls of ${service}`,
  ),
  'run 30s',
  ...crowd(hand),
];

const ending: readonly string[] = [
  'faults end',
  ...[...names].flatMap((type) =>
    zones.map((zone) => `ec2 ${type}@${zone} has unlimited capacity`),
  ),
  ...pools.map((pool) => `limit pool ${pool} none`),
  // Nothing holds the nodes, so that a reaper which does not rest has something to ask.
  ...pools.map((pool) => `set pool ${pool} budget=100%`),
  ...pools.map((pool) => `set pool ${pool} policy=WhenEmptyOrUnderutilized`),
  ...appNames.map((app) => `unprotect ${app}`),
  ...appNames.map((app) => `budget ${app} at most ${String(budgetMin)}`),
  ...serviceNames.map((service) => `start ${service} as ${service}-end`),
  'spot prices stand still',
  'run 20m',
];

/**
 * A cluster to be kept cheap: three pools of 48 types, prices that move, budgets that bind, and
 * two replicas of each service.
 */
export const keepingWorld: World = {
  types: catalogTypes(region).filter(({ facts }) => names.has(facts.name)),
  beginning,
  users,
  faults,
  more,
  ending,
  rest: ['run 10m', 'run 10m'],
};
