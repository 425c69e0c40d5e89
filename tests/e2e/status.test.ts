import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { claims, untilRunning } from '@dovetail/test-support/cluster';
import { ranCommand } from '@dovetail/test-support/command';
import { poolReady } from '@dovetail/test-support/placement';
import { schemaFaults, type SchemaName } from '@dovetail/test-support/schemas';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { eventually, openWorld, type TestWorld } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

type Status = {
  readonly services: readonly { readonly name: string; readonly overdue: boolean }[];
  readonly waiting: readonly { readonly pod: string; readonly why: string }[];
  readonly total: { readonly priceMicrosPerHour: number };
  readonly gap?: Readonly<Record<string, number>>;
};

/** A built command on a terminal of 110 columns and 30 rows. */
function onTerminal(args: readonly string[]) {
  const cli = join(import.meta.dirname, '..', '..', 'dist', 'cli.js');
  const typed = `stty cols 110 rows 30; exec ${[process.execPath, cli, ...args].join(' ')}`;
  const child = spawn('/usr/bin/script', ['-qec', typed, '/dev/null'], {
    env: { ...process.env, NO_COLOR: '1' },
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return {
    text: () => text,
    type: (keys: string) => child.stdin.write(keys),
    ended: new Promise<number | null>((resolve) => child.on('close', resolve)),
  };
}

describe('dovetail status, explain and top, on a lab', () => {
  let at: TestWorld;
  let folder: string;
  const ran = async (code: number, ...args: readonly string[]): Promise<string> => {
    const bus = ['--nats', at.lab.natsUrl, '--cluster', at.lab.options.clusterName];
    const where = args[0] === 'top' ? [] : bus;
    const ended = await ranCommand({ name: 'cli', folder, args: [...args, ...where] });
    expect(ended).toMatchObject({ code });
    return ended.output;
  };
  const status = (...args: readonly string[]): Promise<string> =>
    ran(0, 'status', '--kubeconfig', at.lab.kubeconfig, ...args);
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dovetail-status-'));
    at = await openWorld({ world: 'twin', env: { reaper: { GAP_EVERY: '2s' } } });
    await at.kube.putManifests(
      poolManifest({ clusterName: at.lab.options.clusterName, instanceTypes: ['c5.large'] }),
    );
    await poolReady(at);
    const fits = { name: 'fits', cpu: '700m', memory: '100Mi', replicas: 1 };
    await at.kube.putManifests(deploymentManifest(fits));
    await untilRunning(at, 'default', 1);
  });
  afterAll(async () => {
    await at?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('it shows who leads, and the nodes of a pool with their price', async () => {
    const text = await status();
    expect(text).toMatch(/^1 node, ~?\$0\.\d+\/h \(~?\$\d+ a month\); no pod waits$/m);
    for (const name of ['launcher', 'reaper', 'pod-watcher'])
      expect(text).toMatch(new RegExp(`^${name} +\\S+ +\\d+s ago +\\S+$`, 'm'));
    expect(text).toMatch(/^solvers: batches that wait: \d, being planned: \d$/m);
    expect(text).toMatch(/^default +1 +1 +0 +0 +\d+ % +\d+ % +~?0\.\d{4}$/m);
  });

  test('it says the last round, with its price and the least possible one', async () => {
    expect(await status()).toMatch(/^\d+s ago +plan +0\.\d{4} +0\.\d{4} +1 pod on 1 new node/m);
  });

  test('it says what the same pods would cost from nothing, and the least possible', async () => {
    const { gap, total } = await eventually('the gap of one node', async () => {
      const read = JSON.parse(await status('-o', 'json')) as Status;
      return read.gap?.['nodes'] === 1 ? read : undefined;
    });
    const price = total.priceMicrosPerHour;
    expect(gap).toMatchObject({
      priceMicrosPerHour: price,
      planNodes: 1,
      planPriceMicrosPerHour: price,
      lowerBoundMicrosPerHour: price,
      podsUnplaced: 0,
    });
    expect(await status()).toMatch(
      /^1 node, .*\nfrom nothing: ~?\$0\.\d{4}\/h on 1 node, at least ~?\$0\.\d{4}\/h, \d+m?s ago\n\nSERVICES$/m,
    );
    expect(await ran(0, 'decisions', '--kind', 'gap', '--wide')).toMatch(
      /1 node costs ~?\$0\.\d{4}\/h; a plan from nothing costs ~?\$0\.\d{4}\/h on 1 node, and none costs less than ~?\$0\.\d{4}\/h/,
    );
  });

  test('a pod that fits no type waits with the reason that the planner gave', async () => {
    const large = { name: 'large', cpu: '60', memory: '100Mi', replicas: 1 };
    await at.kube.putManifests(deploymentManifest(large));
    const waiting = await eventually('the reason', async () => {
      const { waiting: pods } = JSON.parse(await status('-o', 'json')) as Status;
      return pods.find(({ pod, why }) => /large/.test(pod) && !why.startsWith('kube-scheduler'));
    });
    expect(waiting?.why).toMatch(/c5\.large|cpu/);
  });

  test('explain pod says at which step the pool fell out, and what would help', async () => {
    const { waiting } = JSON.parse(await status('-o', 'json')) as Status;
    const large = waiting.find(({ pod }) => pod.includes('large'))?.pod ?? '';
    const text = await ran(0, 'explain', 'pod', large);
    expect(text).toMatch(
      /^pod default\/large-\S+: .*\n(unschedulable|plan) by (launcher|solver), /,
    );
    expect(text).toMatch(
      /^\S+ +default +resources-too-large +\d+ of \d+ +the pod asks for 60 cpu/m,
    );
    expect(text).toMatch(/^remedy: ask for at most /m);
  });

  test('explain claim, pool and decision tell why a node was bought', async () => {
    const [claim] = await claims(at);
    const text = await ran(0, 'explain', 'claim', claim?.metadata.name ?? '');
    expect(text).toMatch(/^admit +default +pool-chosen /m);
    expect(text).toMatch(/^launch +- +fleet-choice /m);
    expect(text).toMatch(/^c5\.large on-demand +0\.\d{4} +- +us-west-2[a-z]/m);
    expect(text).toMatch(/HISTORY\nWHEN .*\n.* plan .*\n.* admit .*\n.* launch /);
    expect(await ran(0, 'explain', 'pool', 'default')).toMatch(/^pool default: /);
    expect(await ran(0, 'explain', 'decision', 'launch/')).toMatch(/\nFACTS\n[^]*^fleet/m);
  });

  test('explain says what to write if no decision is about the object', async () =>
    expect(await ran(66, 'explain', 'pod', 'default/none')).toMatch(
      /none of the \d+ kept decisions is about pod default\/none: write namespace\/name/,
    ));

  test('explain says that NATS is away, and how to name it', async () =>
    expect(
      await ranCommand({
        name: 'cli',
        folder,
        args: ['explain', 'pod', 'default/x', '--nats', 'nats://127.0.0.1:1'],
      }),
    ).toMatchObject({ code: 69, output: expect.stringMatching(/give its address with --nats/) }));

  test('top shows each node with its fill, price and what comes next, once in a pipe', async () => {
    const text = await ran(0, 'top', '--kubeconfig', at.lab.kubeconfig);
    expect(text).toMatch(
      /^1 node · ~?\$0\.\d+\/h · CPU \d+ % · memory \d+ % · 1 pod without a node$/m,
    );
    expect(text).toMatch(
      /^ip-\S+ +default +c5\.large +on-demand +us-west-2[a-z] +\d+ % +\d+ % +\d+ +~?0\.\d{4} +\S.* +expires in 29d 23h$/m,
    );
    expect(await ran(0, 'top', '--kubeconfig', at.lab.kubeconfig, '--pool', 'none')).toMatch(
      /^0 nodes .*\nno node of ours, or none that the flags choose\n$/,
    );
  });

  test('JSON of each command follows its published schema, field by field', async () => {
    const kubeconfig = ['--kubeconfig', at.lab.kubeconfig];
    const json = ['-o', 'json'];
    const decisions = (await ran(0, 'decisions', ...json)).trim().split('\n');
    const [claim] = await claims(at);
    const texts: readonly (readonly [SchemaName, string])[] = [
      ['status', await status(...json)],
      ['top', await ran(0, 'top', ...kubeconfig, ...json)],
      ['explain', await ran(0, 'explain', 'claim', claim?.metadata.name ?? '', ...json)],
      ['explain', await ran(0, 'explain', 'pool', 'default', ...json)],
      ...decisions.map((line) => ['decision', line] as const),
    ];
    for (const [name, text] of texts) expect(schemaFaults(name, text), text).toEqual([]);
    expect(schemaFaults('status', '{"schema":"dovetail.sh/status/v1"}')).not.toEqual([]);
  });

  const script = existsSync('/usr/bin/script');
  if (!script)
    process.stdout.write('LEFT OUT: top on a terminal: there is no /usr/bin/script to make one\n');
  test.runIf(script)('top on a terminal is live, follows the cluster, and ends by q', async () => {
    const screen = onTerminal(['top', '--kubeconfig', at.lab.kubeconfig, '--interval', '200ms']);
    await eventually('a row with a bar', () =>
      Promise.resolve(/ip-\S+ .*[█░]{10} +\d+ %/.test(screen.text())),
    );
    const more = { name: 'more', cpu: '700m', memory: '100Mi', replicas: 2 };
    await at.kube.putManifests(deploymentManifest(more));
    await eventually('the second node', () => Promise.resolve(/2 nodes/.test(screen.text())));
    screen.type('q');
    expect(await screen.ended).toBe(0);
    // The terminal gets its own screen and its cursor back.
    expect(screen.text()).toMatch(/\u001b\[\?25h\u001b\[\?1049l\s*$/);
  });
});
