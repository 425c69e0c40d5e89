import { createHash } from 'node:crypto';

import type { PlanMessage, Verdict } from '@dovetail/contracts';
import { claimValue, poolValue } from '@dovetail/core-api/testing';
import { type CatalogView, ChurnGuard, Cluster, nodesNow } from '@dovetail/core-cluster';
import { plainTypeValue, typesByName } from '@dovetail/core-ec2-model/testing';
import { nodeValue, podValue } from '@dovetail/core-kube-model/testing';
import { type Clock, type KubeApi, KubeError, LeadershipLost, Stopper } from '@dovetail/core-ports';
import { describe, expect, test } from 'vitest';

import { ClusterWriter } from '../cluster/cluster-writer.js';
import { binValue, optionOf, planValue } from '../testing/values.js';
import type { OpenRound } from './open-round.js';
import { Rounds } from './rounds.js';
import { noVainPools, noVainTypes } from './testing/judging.js';

const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');
const quiet = () => undefined;
const metrics = { count: quiet, set: quiet, remove: quiet, observe: quiet };
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const types = typesByName(plainTypeValue('small', 2000));
const catalog: CatalogView = { revision: '1', typesOf: () => types };
const bins = 20;

/** A round of twenty new nodes, told of each thing that it does as it does it. */
function round(hooks: {
  readonly onCheck?: (times: number) => void;
  readonly onCreate?: (times: number, office: Stopper) => void;
  /** Whether the Lease still counts; default: while the office lasts. */
  readonly isHeld?: () => boolean;
  readonly msPerCheck?: number;
  /** The round that a predecessor left open. */
  readonly inherited?: OpenRound;
}) {
  let [nowMs, checks, creates, pauses, fences] = [0, 0, 0, 0, 0];
  const waited: number[] = [];
  const refused: string[] = [];
  const verdicts: Verdict[] = [];
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
      channel: { cluster: 'lab', hash: { sha256Hex } },
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
      feed: {
        publishHead: () => Promise.resolve(),
        publishVerdicts: (told) => Promise.resolve(void verdicts.push(...told)),
      },
      report: {
        record: (outcomes) => {
          for (const { kind, binId } of outcomes) if (kind === 'refused') refused.push(binId);
        },
      },
      churn: new ChurnGuard(cluster),
      vainTypes: noVainTypes,
      vainPools: noVainPools,
      leadership: { held: () => !office.aborted && hooks.isHeld?.() !== false },
      epoch: {
        number: 1,
        stop: office,
        inherited: '',
        outrun: () => Promise.resolve(),
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
    hooks.inherited,
  );
  const newNodes = Array.from({ length: bins }, (_, index) =>
    binValue(`bin-${index}`, [`p${index}`], { options: [optionOf('small', 1)] }),
  );
  const plan = planValue('plan');
  const admit = (more: Partial<PlanMessage['plan']> = {}) =>
    rounds.admit([{ ...plan, plan: { ...plan.plan, newNodes, ...more } }]);
  const done = () => ({ checks, creates, pauses, fences });
  return { admit, waited, refused, verdicts, done, cluster };
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

  test('does not make a claim any more once its Lease has run out while the API server was busy', async () => {
    let isHeld = true;
    const self = round({
      isHeld: () => isHeld,
      onCreate: (creates) => {
        if (creates !== bins) return;
        isHeld = false;
        throw new KubeError('too-many-requests', 'busy', { retryAfterSeconds: 2 });
      },
    });
    await expect(self.admit()).rejects.toBeInstanceOf(LeadershipLost);
    expect([self.waited, self.done().creates]).toEqual([[2_000], bins]);
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

  test('that a predecessor left open is not judged again: what it promised stands, the rest is void', async () => {
    const self = round({ inherited: { number: 1, planIds: ['plan'] } });
    const promise = JSON.stringify({ podUids: ['p0'], admission: '1.1' });
    self.cluster.set('node', nodeValue('n', { annotations: { 'dovetail.sh/promise': promise } }));
    const place = (...podUids: readonly string[]) => ({
      ...{ nodeName: 'n', nodeUid: 'node-n', podUids, topologyGroups: [] },
    });
    await self.admit({ newNodes: [], placements: [place('p0'), place('p1')] });
    expect(self.verdicts.map(({ podUid, outcome }) => [podUid, outcome])).toEqual([
      ['p0', 'admitted'],
      ['p1', 'refused'],
    ]);
    expect([self.done().fences, self.verdicts[1]?.reasons[0]?.code]).toEqual([0, 'round-voided']);
  });

  test('whose claims stand is answered by them when it comes again', async () => {
    const self = round({});
    const mark = { 'dovetail.sh/admission': '1.3/plan/bin-1' };
    self.cluster.set('claim', claimValue('c1', { annotations: mark }));
    await self.admit();
    const outcomes = self.verdicts.map(({ podUid, outcome }) => `${podUid} ${outcome}`);
    expect(outcomes.filter((text) => text.endsWith('admitted'))).toEqual(['p1 admitted']);
    expect([outcomes.length, self.done().creates]).toEqual([bins, 0]);
  });
});
