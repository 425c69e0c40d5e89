import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Decision } from '@dovetail/contracts';
import {
  events,
  instances,
  labelOf,
  ourNodes,
  untilNothingLeft,
  untilRunning,
} from '@dovetail/test-support/cluster';
import { untilSeenEmpty, untilSeenOccupied } from '@dovetail/test-support/emptiness';
import { launchTemplates } from '@dovetail/test-support/launch-templates';
import { logged, type LogLine, serviceOf } from '@dovetail/test-support/service-view';
import { eventually, openWorld, type TestWorld, worlds } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const cases = [
  ['r6gd.xlarge', 'workload-r6gd.xlarge.yaml'],
  ['t4g.2xlarge', 'workload-t4g.2xlarge.yaml'],
] as const;

/** The only log line of the launcher about this decision. */
async function lineOf(at: TestWorld, decision: Decision): Promise<LogLine> {
  const part = await serviceOf(at.lab, 'launcher');
  const lines = (await logged(part, `decision-${decision.kind}`)).filter(
    (line) => line['decision'] === decision.id,
  );
  expect(lines).toHaveLength(1);
  return lines[0] as LogLine;
}

/**
 * Decisions and log describe one packing of one node for these pods, of the named type and nothing
 * else.
 */
async function expectOnePacking(
  at: TestWorld,
  expected: {
    readonly instanceType: string;
    readonly podUids: readonly string[];
    readonly claimName: string;
  },
): Promise<void> {
  const { instanceType, podUids, claimName } = expected;
  const packings = await eventually('the packing as a decision', () => {
    const found = at.decisions
      .of('admit')
      .filter(({ objects }) => objects.some(({ uid }) => podUids.includes(uid ?? '')));
    return found.length > 0 && found;
  });
  expect(packings).toHaveLength(1);
  const packing = packings[0] as Decision;
  expect(
    packing.objects
      .filter(({ kind }) => kind === 'Pod')
      .map(({ uid }) => uid)
      .toSorted(),
  ).toEqual(podUids.toSorted());
  const said = { instanceType, zone: 'us-west-2a', capacityType: 'on-demand' };
  expect(packing).toMatchObject({
    claimName,
    alternatives: [],
    ...said,
    facts: { pods: '3', options: '1' },
  });
  expect(await lineOf(at, packing)).toMatchObject({
    claim: claimName,
    pods: '3',
    options: '1',
    ...said,
    msg: packing.summary,
  });
}

/**
 * Decisions and log describe the launch as EC2 knows it: image, the source of its id, security
 * groups, launch template.
 */
async function expectLaunchTold(at: TestWorld, launch: Decision): Promise<void> {
  const [instance] = await instances(at);
  const template = (await launchTemplates(at)).find(
    ({ name }) => name === launch.facts['launchTemplate'],
  );
  expect(template?.securityGroupIds.length).toBeGreaterThan(0);
  expect(template?.imageId).toBe(instance?.imageId);
  const facts = {
    image: instance?.imageId,
    securityGroups: template?.securityGroupIds.join(','),
    launchTemplate: template?.name,
    imageParameter: `/aws/service/eks/optimized-ami/${at.lab.options.kubernetesVersion}/amazon-linux-2023/arm64/standard/recommended/image_id`,
  };
  const said = {
    instanceType: instance?.instanceType,
    zone: 'us-west-2a',
    capacityType: 'on-demand',
  };
  expect(launch).toMatchObject({ instanceId: instance?.instanceId, ...said, facts });
  expect(await lineOf(at, launch)).toMatchObject({
    claim: launch.claimName,
    instance: instance?.instanceId,
    ...said,
    ...facts,
    msg: launch.summary,
  });
}

/** Waits until the reaper's log and an Event of the node have this sentence. */
async function untilTold(at: TestWorld, node: string | undefined, text: string): Promise<void> {
  const reaper = await serviceOf(at.lab, 'reaper');
  const event = text.startsWith('Added') ? 'emptiness-ttl-added' : 'emptiness-ttl-removed';
  await eventually(`the log of the reaper to say: ${text}`, async () =>
    (await logged(reaper, event)).some((line) => line.msg === text && line['node'] === node),
  );
  await eventually(`an Event of the node that says: ${text}`, async () =>
    (await events(at)).some(
      ({ message, involvedObject }) =>
        message === text && involvedObject?.kind === 'Node' && involvedObject.name === node,
    ),
  );
}

describe.each(await worlds())('scenario layered-constraints on the %s world', (world) => {
  let at: TestWorld;
  let folder: string;
  let levelFile: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dovetail-logging-'));
    levelFile = join(folder, 'launcher');
    await writeFile(levelFile, 'info\n');
    at = await openWorld({
      world,
      region: 'us-west-2',
      zones: ['us-west-2a', 'us-west-2b', 'us-west-2d'],
      env: { launcher: { LOG_LEVEL_FILE: levelFile } },
    });
    await at.applyScenario('layered-constraints', ['provisioner.yaml']);
  });
  afterAll(async () => {
    await at?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test.each(cases)(
    'one %s, on-demand, arm64, in us-west-2a holds all three pods and ends when they are gone',
    async (instanceType, workload) => {
      await at.applyScenario('layered-constraints', [workload]);
      const running = await untilRunning(at, 'default', 3);
      const [node, ...others] = await ourNodes(at);
      expect(others).toEqual([]);
      expect(new Set(running.map((pod) => pod.spec.nodeName))).toEqual(
        new Set([node?.metadata.name]),
      );
      expect(node?.metadata.labels).toMatchObject({
        'node.kubernetes.io/instance-type': instanceType,
        'karpenter.sh/capacity-type': 'on-demand',
        'topology.kubernetes.io/zone': 'us-west-2a',
        'kubernetes.io/arch': 'arm64',
        'karpenter.sh/provisioner-name': 'default',
      });
      const [instance] = await instances(at);
      expect(instance).toMatchObject({
        instanceType,
        zone: 'us-west-2a',
        capacityType: 'on-demand',
      });
      const launch = await eventually('the launch as a decision', () =>
        at.decisions.of('launch').find((decision) => decision.instanceId === instance?.instanceId),
      );
      await expectOnePacking(at, {
        instanceType,
        podUids: running.map(({ metadata: { uid = '' } }) => uid),
        claimName: launch.claimName ?? '',
      });
      await expectLaunchTold(at, launch);

      await at.kubectl('scale', 'deployment/inflate', '--replicas=0');
      await untilSeenEmpty(at, 'default');
      await at.lab.advanceClock(15_000);
      expect((await ourNodes(at)).length).toBe(1);
      await at.lab.advanceClock(16_000);
      await untilNothingLeft(at);
      expect(
        at.decisions
          .of('terminate')
          .some((decision) => decision.instanceId === instance?.instanceId),
      ).toBe(true);
    },
  );

  test('the level of a log changes while the service runs, as its file in the ConfigMap does', async () => {
    if (!at.lab.parts.has('launcher')) {
      process.stderr.write(
        'LEFT OUT: the level of a log, because without a nats-server all services share a process and its log\n',
      );
      return;
    }
    const launcher = await serviceOf(at.lab, 'launcher');
    await writeFile(levelFile, 'debug\n');
    await eventually('the launcher to follow', async () =>
      (await logged(launcher, 'log-level-changed')).some(
        ({ msg }) => msg === 'the log level is debug now, and was info',
      ),
    );
  });

  test('new pods within the 30 seconds stop the countdown', async () => {
    await at.kubectl('scale', 'deployment/inflate', '--replicas=1');
    await untilRunning(at, 'default', 1);
    const [node] = await ourNodes(at);
    await at.kubectl('scale', 'deployment/inflate', '--replicas=0');
    await untilSeenEmpty(at, 'default');
    await untilTold(at, node?.metadata.name, 'Added TTL to empty node');
    await at.lab.advanceClock(15_000);
    await at.kubectl('scale', 'deployment/inflate', '--replicas=2');
    const running = await untilRunning(at, 'default', 2);
    await untilSeenOccupied(at);
    await untilTold(at, node?.metadata.name, 'Removed emptiness TTL from node');
    await at.lab.advanceClock(20_000);
    expect(new Set(running.map((pod) => pod.spec.nodeName))).toEqual(
      new Set([node?.metadata.name]),
    );
    expect(
      (await ourNodes(at)).map((each) => labelOf(each, 'kubernetes.io/hostname')),
    ).toHaveLength(1);
    await at.kubectl('delete', 'provisioner', 'default', '--wait=false');
    await untilNothingLeft(at);
  });
});
