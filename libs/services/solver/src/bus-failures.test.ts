import { subjects } from '@dovetail/contracts';
import { podValue } from '@dovetail/core-kube-model/testing';
import { BusError } from '@dovetail/core-ports';
import { clusterName } from '@dovetail/sim-stage';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { SolverStage } from './testing/solver-stage.js';

let stage: SolverStage;
beforeEach(async () => {
  stage = await new SolverStage().begin();
});
afterEach(() => {
  expect(stage.said('died')).toEqual([]);
  stage.end();
});

test('a batch that the bus fails comes again until its plan is out, and counts no failure', async () => {
  await stage.basics();
  await stage.tell('pod', podValue('a'));
  const bus = stage.connect();
  const publish = bus.publish.bind(bus);
  const plans = subjects.planAll(clusterName).replace('>', '');
  let refusals = 5;
  const refuse = (message: Parameters<typeof publish>[0]): ReturnType<typeof publish> => {
    if (!message.subject.startsWith(plans) || refusals === 0) return publish(message);
    refusals -= 1;
    return Promise.reject(new BusError('unavailable', 'no answer'));
  };
  stage.solver('one', { bus: Object.assign(bus, { publish: refuse }) });
  await stage.batch(['a']);
  await stage.advance(30_000);
  const text = 'the bus failed a batch: no answer; it comes again';
  expect(stage.said('batch-failed').map(({ level, message }) => [level, message])).toEqual(
    Array.from({ length: 5 }, () => ['warn', text]),
  );
  expect(stage.metrics.value('dovetail_solver_failures_total')).toBeUndefined();
  expect(stage.plans).toHaveLength(1);
  expect(stage.decisions.map(({ kind }) => kind)).toEqual(['plan']);
});
