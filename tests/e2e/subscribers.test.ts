import { join } from 'node:path';

import { decisionKinds, inboxOf, streamName, subjects } from '@dovetail/contracts';
import { runningPods, untilNothingLeft, untilRunning } from '@dovetail/test-support/cluster';
import { untilSeenEmpty } from '@dovetail/test-support/emptiness';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { connect, type NatsConnection } from 'nats';
import protobuf from 'protobufjs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * Anyone may read the decisions, with our client library or with the .proto files alone. The plain
 * client is the `nats` package of NATS' maintainers, and protobufjs reads the messages from the
 * published schema.
 */
const world = (await worlds()).includes('real') ? 'real' : 'twin';
const protoRoot = join(import.meta.dirname, '..', '..', 'proto');

type PlainDecision = {
  readonly id: string;
  readonly kind: string;
  readonly summary: string;
  readonly claimName?: string;
  readonly priceMicrosPerHour?: string;
};
type Heard = {
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly decision: PlainDecision;
};

async function decisionType(): Promise<protobuf.Type> {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) =>
    target.startsWith('google/') ? target : join(protoRoot, target);
  await root.load('dovetail/v1/decision.proto');
  return root.lookupType('dovetail.v1.Decision');
}

const kindOf = ({ kind }: PlainDecision): string =>
  kind.replace('DECISION_KIND_', '').toLowerCase().replace('_', '-');

/** Subscribes to the subject as any NATS client does, and reads the messages. */
async function listen(connection: NatsConnection, heard: Heard[]): Promise<void> {
  const type = await decisionType();
  const subscription = connection.subscribe('dovetail.lab.decision.v1.>');
  await connection.flush();
  void (async () => {
    for await (const message of subscription) {
      const decision = type.toObject(type.decode(message.data), {
        longs: String,
        enums: String,
      }) as PlainDecision;
      heard.push({
        subject: message.subject,
        headers: Object.fromEntries(
          (message.headers?.keys() ?? []).map((key) => [key, message.headers?.get(key) ?? '']),
        ),
        decision,
      });
    }
  })();
}

describe(`the decisions of a scale-up, as subscribers see them on the ${world} world`, () => {
  let at: TestWorld;
  let connection: NatsConnection;
  const heard: Heard[] = [];
  beforeAll(async () => {
    at = await openWorld({ world });
    connection = await connect({ servers: at.lab.natsUrl, inboxPrefix: inboxOf('lab', 'reader') });
    await listen(connection, heard);
    await at.kube.putManifests(poolManifest({ clusterName: 'lab', vcpusMax: 8 }));
    await at.kube.putManifests(
      deploymentManifest({ name: 'web', replicas: 6, cpu: '900m', memory: '1Gi' }),
    );
    await untilRunning(at, 'default', 6, 90_000);
    await eventually(
      'every node to be initialised',
      () =>
        at.decisions.of('initialize').length === at.decisions.of('launch').length &&
        at.decisions.of('launch').length > 0,
    );
  });
  afterAll(async () => {
    await connection?.close();
    await at?.close();
  });

  test('a plain NATS client hears the same decisions as the client library', async () => {
    const byLibrary = (): readonly string[] =>
      at.decisions.all.map(({ id, kind }) => `${kind} ${id}`).toSorted();
    const byPlainClient = (): readonly string[] =>
      [...new Set(heard.map(({ decision }) => `${kindOf(decision)} ${decision.id}`))].toSorted();
    await eventually(
      'both to have heard everything',
      () => JSON.stringify(byLibrary()) === JSON.stringify(byPlainClient()),
    );
    expect(byPlainClient()).toEqual(byLibrary());
    expect((await runningPods(at, 'default')).length).toBe(6);
  });

  test.each(['plan', 'admit', 'launch', 'register', 'initialize'] as const)(
    'a scale-up tells %s, on a subject of its kind and pool, with CloudEvents headers',
    (kind) => {
      const mine = heard.filter(({ subject }) =>
        subject.startsWith(`dovetail.lab.decision.v1.${kind}.`),
      );
      expect(mine.length).toBeGreaterThan(0);
      for (const { subject, headers, decision } of mine) {
        expect(kindOf(decision)).toBe(kind);
        expect(headers).toMatchObject({
          'ce-specversion': '1.0',
          'ce-source': expect.stringMatching(/^\/dovetail\/lab\/(solver|launcher|reaper)$/),
          'ce-type': `dovetail.v1.Decision.${kind}`,
          'content-type': 'application/protobuf',
        });
        if (kind !== 'plan')
          expect(subject).toBe(
            subjects.decision('lab', kind, { kind: 'NodePool', name: 'default' }),
          );
      }
    },
  );

  test('what was heard tells a story: each launch has its admission, and both have a price', () => {
    const admitted = new Map(
      heard
        .filter(({ decision }) => kindOf(decision) === 'admit')
        .map(({ decision }) => [decision.claimName, decision]),
    );
    for (const { decision } of heard.filter((each) => kindOf(each.decision) === 'launch')) {
      expect(Number(decision.priceMicrosPerHour)).toBeGreaterThan(0);
      expect(Number(admitted.get(decision.claimName)?.priceMicrosPerHour)).toBeGreaterThan(0);
    }
  });

  test('a scale-down tells disrupt, drain and terminate; every decision until then says why, and what its node costs', async () => {
    await at.kubectl('scale', 'deployment/web', '--replicas=0');
    await untilSeenEmpty(at, 'default');
    await at.lab.advanceClock(60_000);
    await untilNothingLeft(at);
    expect(
      ['disrupt', 'drain', 'terminate'].filter(
        (kind) => !at.decisions.all.some((decision) => decision.kind === kind),
      ),
    ).toEqual([]);
    const launched = new Map(
      at.decisions
        .of('launch')
        .map((decision) => [decision.claimName, decision.priceMicrosPerHour]),
    );
    for (const { kind, claimName, reasons, priceMicrosPerHour } of at.decisions.all) {
      expect([kind, reasons.map(({ message }) => message === '')]).toEqual([
        kind,
        reasons.map(() => false),
      ]);
      // Pods that fit nowhere yet, while the pool becomes ready, cost nothing.
      const price =
        kind === 'unschedulable'
          ? undefined
          : claimName === undefined
            ? expect.any(Number)
            : launched.get(claimName);
      expect([kind, reasons.length > 0, priceMicrosPerHour]).toEqual([kind, true, price]);
    }
  });

  test('whoever comes later reads the same from the stream', async () => {
    const stream = streamName('lab', 'decisions');
    const info = await (
      await connection.jetstreamManager({ checkAPI: false })
    ).streams.info(stream, { subjects_filter: '>' });
    expect(info.state.messages).toBeGreaterThanOrEqual(
      new Set(heard.map(({ decision }) => decision.id)).size,
    );
    for (const subject of Object.keys(info.state.subjects ?? {}))
      expect(decisionKinds).toContain(subject.split('.')[4]);
  });
});
