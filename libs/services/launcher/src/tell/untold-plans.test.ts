import {
  type Decision,
  decodeDecision,
  limits,
  publishDecision,
  streamName,
  streamSpecs,
} from '@dovetail/contracts';
import { kubeResources } from '@dovetail/core-ports';
import { decisionOfPlan, Decisions, Outbox } from '@dovetail/service-kit';
import { clusterName, podObject, Stage } from '@dovetail/sim-stage';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { launcherStage } from '../testing/launcher-stage.js';
import { planValue } from '../testing/values.js';
import { UntoldPlans } from './untold-plans.js';

let stage: Stage;
let untold: UntoldPlans;
/** The decisions on the stream, also those of one id. */
let decisions: Decision[];
beforeEach(async () => {
  stage = await new Stage().begin();
  await stage.bus.ensureStreams(streamSpecs(clusterName));
  decisions = [];
  void follow();
  untold = launcherOn();
  await stage.advance(10);
});
afterEach(() => stage.end());

async function follow(): Promise<void> {
  const what = {
    stream: streamName(clusterName, 'decisions'),
    filters: ['>'],
    from: 'first',
  } as const;
  for await (const event of stage.bus.follow(what, stage.stop.signal)) {
    const read = event.kind === 'message' ? decodeDecision(event.message.payload) : undefined;
    if (read?.ok === true) decisions.push(read.value);
  }
}

/** The plans of one launcher process. */
function launcherOn(): UntoldPlans {
  const { log, clock } = stage;
  const channel = stage.channelOf('launcher');
  const outbox = new Outbox({
    clock,
    waitingMax: 10,
    retryMs: 100,
    onError: () => undefined,
    isHopeless: () => false,
    onDropped: () => undefined,
  });
  const made = new UntoldPlans({
    channel,
    log,
    decisions: new Decisions({ channel, outbox, log }),
  });
  void made.run(stage.stop.signal);
  void outbox.run(stage.stop.signal);
  return made;
}

const bound = { kind: 'aggregate-lp', priceMicrosPerHour: 70 } as const;
const plan = planValue('a', { plan: { ...planValue('a').plan, bound, priceMicrosPerHour: 100 } });

/** The solver's decision once it has proven more. */
const proven = (): Promise<unknown> => {
  const channel = stage.channelOf('solver');
  const told = { ...plan, plan: { ...plan.plan, bound: { ...bound, priceMicrosPerHour: 90 } } };
  const rest = { source: 'solver', objects: [], reasons: [], alternatives: [], facts: {} };
  return publishDecision(channel, { ...rest, atMs: 0, ...decisionOfPlan(told) });
};

const heard = () =>
  decisions.map(({ source, planId, lowerBoundMicrosPerHour: least }) => [source, planId, least]);

test('the plan of a solver that died has one decision, with the bound that the plan carries', async () => {
  untold.add(plan);
  untold.add(plan);
  await stage.advance(limits.planToldMs - 100);
  expect(heard()).toEqual([]);
  await stage.advance(200);
  expect(heard()).toEqual([['launcher', 'a', 70]]);
  untold.add(plan);
  await stage.advance(2 * limits.planToldMs);
  expect(heard()).toEqual([['launcher', 'a', 70]]);
});

test.each<[string, () => Promise<void>]>([
  ['before the launcher takes the plan', async () => void (await proven())],
  [
    'after the launcher has taken the plan',
    async () => {
      untold.add(plan);
      await proven();
    },
  ],
])('a decision that the solver tells %s is the only one', async (_when, act) => {
  await act();
  await stage.advance(10);
  untold.add(plan);
  await stage.advance(2 * limits.planToldMs);
  expect(heard()).toEqual([['solver', 'a', 90]]);
  expect(stage.said('plan-untold')).toEqual([]);
});

test('a launcher that began after the solver had told the decision adds none to the stream', async () => {
  await proven();
  await stage.advance(10);
  const successor = launcherOn();
  await stage.advance(10);
  successor.add(plan);
  await stage.advance(2 * limits.planToldMs);
  expect(heard()).toEqual([['solver', 'a', 90]]);
});

test('a launcher tells the decision of a plan that it admitted and that no solver told', async () => {
  stage.end();
  const self = await launcherStage();
  stage = self;
  await self.readyPool();
  self.launcher('one');
  await self.planningPossible();
  await self.kube.create(kubeResources.pods, podObject('a'));
  await self.until("the pod in the solver's view", () => self.planner.cluster.pods.size === 1);
  const { id } = await self.planner.planFor(['a']);
  await self.until('the decision', () => self.said('decision-plan').length > 0);
  expect(self.said('decision-plan')).toMatchObject([{ fields: { plan: id } }]);
});

test('the bus discards the second of two decisions of a plan', () =>
  expect(limits.planToldMs).toBeLessThan(limits.duplicateWindowMs));

test('the plan of a command is told at once, and once, without a word of a solver that has ended', async () => {
  const cause = {
    kind: 'replacement',
    nodeName: 'n1',
    nodeUid: 'u1',
    reason: 'underutilized',
    command: 'underutilized-1',
  } as const;
  const plan = planValue('of-a-command', { cause });
  for (const _time of [1, 2]) untold.add(plan);
  await stage.advance(1_000);
  expect(decisions.map(({ id }) => id)).toEqual([decisionOfPlan(plan).id]);
  await stage.advance(2 * limits.planToldMs);
  expect(decisions).toHaveLength(1);
  expect(stage.said('plan-untold')).toEqual([]);
});
