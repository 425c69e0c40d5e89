import { kubeResources } from '@dovetail/core-ports';

import { copyNameOf, isCopy } from '../user-commands.js';
import type { Hand, Move } from './hand.js';

const { nodeClaims, nodes } = kubeResources;

/** Apps of ReplicaSets, and one of a Deployment, which can roll out. */
export const apps = ['web', 'db', 'job'] as const;
const deployed = 'web';
/** The pools of every story. */
export const pools = ['spot', 'steady'] as const;

/** So many that a node whose pods all go at once breaks the budget. */
export const budgetMin = 3;
/** More than an app ever has: its pods may not be evicted. */
const blockingMin = 20;

/** Labels of a pool's nodes. `constructor` and `toString` are label keys like any other. */
export const teams = ['team=a', 'constructor=b', 'toString=c'] as const;
/** The key that pods of an app have as label, and in their affinities. No node has it. */
const keyOf = { web: '', db: '', job: ' key=valueOf' } as const;

function scale(hand: Hand): readonly string[] {
  const app = hand.one(apps);
  const cpu = hand.sizes.get(app) ?? hand.one(['0.5', '1', '3']);
  const isNew = !hand.sizes.has(app);
  hand.sizes.set(app, cpu);
  if (isNew && hand.happens(0.5)) hand.budgets.add(app);
  // An owner that scales an app below its budget breaks it without us.
  const fewest = hand.budgets.has(app) ? budgetMin + 1 : 0;
  const verb = app === deployed ? 'deploy' : 'scale';
  const line = `${verb} ${app} ${String(hand.between(fewest, fewest + 7))} cpu=${cpu}${keyOf[app]}`;
  return isNew && hand.budgets.has(app)
    ? [line, `budget ${app} at least ${String(budgetMin)}`]
    : [line];
}

/** A budget that allows no eviction, and after a while the old one again. */
function block(hand: Hand): readonly string[] {
  if (hand.budgets.size === 0) return [];
  const app = hand.one([...hand.budgets]);
  return [
    `budget ${app} at least ${String(blockingMin)}`,
    `run ${String(hand.between(1, 20))}m`,
    `budget ${app} at least ${String(budgetMin)}`,
  ];
}

function limit(hand: Hand): readonly string[] {
  const pool = hand.one(pools);
  return [`limit pool ${pool} ${hand.one(['cpu=8', 'cpu=16', 'none', 'none'])}`];
}

/** Someone deletes a node or a claim. */
export function deleted(hand: Hand, kind: 'node' | 'claim'): readonly string[] {
  const name = hand.named(kind, hand.stage.names(kind === 'node' ? nodes : nodeClaims));
  return name === undefined ? [] : [`delete ${kind} ${name}`];
}

/** A copy of a claim, which names the same instance, comes and goes. */
function copied(hand: Hand): readonly string[] {
  const present = hand.stage.names(nodeClaims).filter((name) => !isCopy(name));
  if (present.length === 0) return [];
  const actual = hand.one([...present]);
  const { names } = hand.stage.narrator;
  const [name, copy] = [names.add('claim', actual), names.add('claim', copyNameOf(actual))];
  return [`copy claim ${name}`, `run ${String(hand.between(2, 40))}s`, `delete claim ${copy}`];
}

/** Someone keeps new pods away from a node for a while. */
export function cordon(hand: Hand): readonly string[] {
  const name = hand.named('node', hand.stage.names(nodes));
  return name === undefined
    ? []
    : [`cordon ${name}`, `run ${String(hand.between(10, 300))}s`, `uncordon ${name}`];
}

/** Moves of users. */
export const userMoves: readonly Move[] = [
  { weight: 8, lines: scale },
  { weight: 2, lines: (hand) => (hand.sizes.has(deployed) ? [`rollout ${deployed}`] : []) },
  { weight: 1, lines: block },
  { weight: 1, lines: limit },
  { weight: 1, lines: cordon },
  { weight: 1, lines: copied },
  { weight: 1, lines: (hand) => deleted(hand, 'node') },
  { weight: 1, lines: (hand) => deleted(hand, 'claim') },
  {
    weight: 1,
    lines: (hand) =>
      hand.sizes.size === 0 ? [] : [`delete pod of ${hand.one([...hand.sizes.keys()])}`],
  },
  // An owner changes a pool's template, so that its nodes drift.
  { weight: 1, lines: (hand) => [`label pool ${hand.one(pools)} ${hand.one(teams)}`] },
  { weight: 1, lines: () => ['run 10m'] },
];
