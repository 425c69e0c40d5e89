/**
 * The record of a plan as the bytes that a release left on the bus. `npx tsx
 * --conditions=@dovetail/source apps/cli/src/replay/testing/released.ts v2` writes those of today's
 * code. A file that exists is never written again: it stands for a release that users run.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
  planIdOf,
  type PlanRecord,
  publishPlanRecord,
  publishRecordPart,
  streamName,
  streamSpecs,
} from '@dovetail/contracts';
import { poolValue } from '@dovetail/core-api/testing';
import { gibibytes, mebibytes, podValue, selecting } from '@dovetail/core-kube-model/testing';
import { type Clock, Stopper } from '@dovetail/core-ports';
import {
  defaultPlanOptions,
  PartWriter,
  planAgain,
  type PlanInput,
  type PlanSketch,
  sketchOf,
  writtenRecord,
} from '@dovetail/core-scheduling';
import { existingNodeValue, snapshotOf } from '@dovetail/core-scheduling/testing';
import { systemPacking } from '@dovetail/runtime';
import { memoryBus, MemoryBusServer } from '@dovetail/sim-bus';
import { m5Types } from '@dovetail/sim-stage';

import { nodeHash } from '../../nats/bus-reader.js';

const folder = join(import.meta.dirname, '../../../../../tests/golden/replays');
const cluster = 'lab';
const clock: Clock = { nowMs: () => 1_700_000_000_000, sleep: () => Promise.resolve() };

/** A record on the bus: its messages in their order, with what the release said of its plan. */
export type Released = {
  readonly planId: string;
  readonly made: PlanSketch;
  readonly messages: readonly { readonly subject: string; readonly base64: string }[];
};

/** The records of all releases, by the names of their files. */
export const releasedRecords = (): readonly (readonly [string, Released])[] =>
  readdirSync(folder)
    .sort()
    .map((file) => [
      file.replace('.json', ''),
      JSON.parse(readFileSync(join(folder, file), 'utf8')) as Released,
    ]);

/** Pods of three kinds beside a node: some fit on it, some spread over zones, one fits nowhere. */
const input: PlanInput = {
  snapshot: snapshotOf({
    pools: [
      { pool: poolValue('default'), instanceTypes: m5Types },
      {
        pool: poolValue('tainted', {
          weight: 10,
          taints: [{ key: 'team', value: 'a', effect: 'NoSchedule' }],
        }),
        instanceTypes: m5Types.slice(0, 1),
      },
    ],
    nodes: [existingNodeValue('node-a', { pods: [podValue('runs', { nodeName: 'node-a' })] })],
  }),
  pods: [
    ...['a', 'b', 'c', 'd'].map((uid) =>
      podValue(uid, {
        labels: { app: 'web' },
        requests: { cpu: 1_500, memory: mebibytes(700), pods: 1 },
        topologySpread: [
          {
            maxSkew: 1,
            topologyKey: 'topology.kubernetes.io/zone',
            whenUnsatisfiable: 'DoNotSchedule',
            selector: selecting({ app: 'web' }),
            nodeAffinityPolicy: 'Honor',
            nodeTaintsPolicy: 'Ignore',
          },
        ],
      }),
    ),
    ...['e', 'f', 'ä'].map((uid) =>
      podValue(uid, { requests: { cpu: 500, memory: gibibytes(2), pods: 1 } }),
    ),
    podValue('large', { requests: { cpu: 96_000, pods: 1 } }),
  ],
  options: defaultPlanOptions,
  // The clock let the search go on thirty times, and stopped it then.
  answers: [30, 1],
};

/** Makes that plan, and answers the messages that its record leaves on the bus. */
async function released(): Promise<Released> {
  const bus = memoryBus(new MemoryBusServer(clock));
  await bus.ensureStreams(streamSpecs(cluster));
  const channel = { bus, cluster, hash: nodeHash, source: 'solver-1', clock };
  const plan = planAgain(input);
  const origin = {
    cause: { kind: 'pending', group: 'g1', round: '3.7' },
    statePosition: { incarnation: 's1', sequence: 40 },
    admissionSeen: { epoch: 3, number: 11 },
    createdMs: clock.nowMs(),
    solver: 'solver-1',
    solveMs: 12,
  } as const;
  const planId = planIdOf(nodeHash, { ...origin, plan });
  const made = sketchOf(plan);
  const steps = writtenRecord({ input, made }, new PartWriter(nodeHash, () => false));
  let step = steps.next();
  for (; step.done !== true; step = steps.next())
    if (step.value !== undefined) await publishRecordPart(channel, step.value, systemPacking);
  const record: PlanRecord = { ...origin, id: planId, input: step.value };
  await publishPlanRecord(channel, record);
  const messages: { subject: string; base64: string }[] = [];
  const stop = new Stopper();
  const stream = streamName(cluster, 'records');
  for await (const event of bus.follow({ stream, filters: ['>'], from: 'first' }, stop)) {
    if (event.kind !== 'message') break;
    const { subject, payload } = event.message;
    messages.push({ subject, base64: Buffer.from(payload).toString('base64') });
  }
  return { planId, made, messages };
}

const [, script = '', release] = process.argv;
if (script.endsWith('replay/testing/released.ts') && release !== undefined) {
  const file = join(folder, `${release}.json`);
  if (existsSync(file)) throw new Error(`${file} exists: it is never rewritten; name a release`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, `${JSON.stringify(await released(), undefined, 1)}\n`);
}
