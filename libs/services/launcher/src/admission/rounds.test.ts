import { createHash } from 'node:crypto';

import { poolValue } from '@dovetail/core-api/testing';
import { type CatalogView, ChurnGuard, Cluster, nodesNow } from '@dovetail/core-cluster';
import { plainTypeValue, typesByName } from '@dovetail/core-ec2-model/testing';
import { podValue } from '@dovetail/core-kube-model/testing';
import { type Clock, type KubeApi, KubeError, LeadershipLost, Stopper } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { ClusterWriter } from '../cluster/cluster-writer.js';
import { binValue, optionOf, planValue } from '../testing/values.js';
import { Rounds } from './rounds.js';

const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');
const quiet = () => undefined;
const metrics = { count: quiet, set: quiet, observe: quiet };
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const types = typesByName(plainTypeValue('small', 2000));
const catalog: CatalogView = { revision: '1', typesOf: () => types };
const bins = 20;

/** A round of twenty new nodes, told of each thing that it does as it does it. */
function round(hooks: {
  readonly onCheck?: (times: number) => void;
  readonly onCreate?: (times: number, office: Stopper) => void;
  readonly msPerCheck?: number;
}) {
  let [nowMs, checks, creates, pauses, fences] = [0, 0, 0, 0, 0];
  const waited: number[] = [];
  const refused: string[] = [];
  const office = new Stopper();
  const clock: Clock = {
    nowMs: () => nowMs,
    sleep: (durationMs) => {
      if (durationMs >= 1_000) waited.push(durationMs);
      pauses += 1;
      return Promise.resolve();
    },
  };
  const cluster = new Cluster();
  cluster.set('pool', poolValue('default'));
  for (let index = 0; index < bins; index += 1) cluster.set('pod', podValue(`p${index}`));
  const create: KubeApi['create'] = (_, object) => {
    creates += 1;
    hooks.onCreate?.(creates, office);
    const metadata = { ...object.metadata, uid: `u${creates}`, resourceVersion: `${creates}` };
    return Promise.resolve({ ...object, metadata });
  };
  const rounds = new Rounds(
    {
      ...{ clock, log, metrics, cluster, catalog, hash: { sha256Hex }, onClaims: quiet },
      classOf: () => undefined,
      writer: new ClusterWriter({ kube: { create } as unknown as KubeApi, clock, cluster }),
      checker: {
        nodesInTurns: () => Promise.resolve(nodesNow(cluster, catalog, 0)),
        asOfNow: () => () => {
          checks += 1;
          nowMs += hooks.msPerCheck ?? 0;
          return [];
        },
      },
      feed: { publishHead: () => Promise.resolve(), publishVerdicts: () => Promise.resolve() },
      report: {
        record: (outcomes) => {
          for (const { kind, binId } of outcomes) if (kind === 'refused') refused.push(binId);
        },
      },
      churn: new ChurnGuard(cluster),
      leadership: { held: () => !office.aborted },
      epoch: {
        number: 1,
        stop: office,
        inherited: '',
        guardedWrite: () => {
          fences += 1;
          return Promise.resolve();
        },
      },
    },
    {
      planAgeMaxMs: 60_000,
      plansPerRoundMax: 8,
      promiseMs: 1,
      replacementPromiseMs: 1,
      writesInParallel: 4,
    },
    undefined,
  );
  const newNodes = Array.from({ length: bins }, (_, index) =>
    binValue(`bin-${index}`, [`p${index}`], { options: [optionOf('small', 1)] }),
  );
  const plan = planValue('plan');
  const admit = () => rounds.admit([{ ...plan, plan: { ...plan.plan, newNodes } }]);
  return { admit, waited, refused, done: () => ({ checks, creates, pauses, fences }) };
}

describe('a round', () => {
  test('ends between two claims once another may lead', async () => {
    const self = round({
      onCreate: (times, office) => {
        if (times === 7) office.abort();
      },
    });
    await expect(self.admit()).rejects.toBeInstanceOf(LeadershipLost);
    // Those that were on their way at that moment are made.
    expect(self.done().creates).toBeLessThanOrEqual(7 + 3);
  });

  test('that judges for long lets other work go on, and is fenced again before it writes', async () => {
    const self = round({ msPerCheck: 300 });
    await self.admit();
    expect(self.done()).toEqual({ checks: bins, creates: bins, pauses: bins, fences: 2 });
  });

  test.each([
    ['that can make its claims later waits as long as it is asked to', 2, [2_000, 2_000], []],
    ['gives a claim up that cannot be made for long', 5, [2_000, 2_000, 2_000, 2_000], ['bin-19']],
  ])('%s', async (_what, times, waited, refused) => {
    let left = times;
    const self = round({
      onCreate: (creates) => {
        if (creates < bins || left === 0) return;
        left -= 1;
        throw new KubeError('too-many-requests', 'busy', { retryAfterSeconds: 2 });
      },
    });
    await self.admit();
    expect([self.waited, self.refused]).toEqual([waited, refused]);
  });

  test('that judges quickly is fenced once, and pauses for nothing', async () => {
    const self = round({});
    await self.admit();
    expect(self.done()).toEqual({ checks: bins, creates: bins, pauses: 0, fences: 1 });
  });
});
