import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectKubernetes } from '@dovetail/adapter-kubernetes/manifests';
import { type Ended, ranCommand } from '@dovetail/test-support/command';
import { schemaFaults } from '@dovetail/test-support/schemas';
import { deploymentManifest, poolManifest } from '@dovetail/test-support/workload';
import { eventually } from '@dovetail/test-support/world';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
const clusterName = 'lab';
const types = ['c5.large', 'm5.large', 'c5a.large'];

type Told = { readonly id: string; readonly kind: string; readonly planId?: string };
type Replayed = {
  readonly same: boolean;
  readonly recorded: { readonly priceMicrosPerHour: number };
  readonly now: { readonly priceMicrosPerHour: number };
  readonly nodes: readonly { readonly instanceType: string; readonly now: number }[];
};

describe('dovetail replay, in the folder of a lab', () => {
  let folder = '';
  const run = (...args: readonly string[]): Promise<Ended> =>
    ranCommand({ name: 'cli', folder, args });
  const decided = async (kind: string): Promise<readonly Told[]> => {
    const { output } = await run('decisions', '--kind', kind, '-o', 'json');
    return output
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Told);
  };
  const planned = async (): Promise<string> => (await decided('plan')).at(-1)?.id ?? '';
  /** Makes the last plan again under some changes. */
  const replayed = async (...changes: readonly string[]): Promise<Replayed> => {
    const { code, output } = await run('replay', await planned(), '-o', 'json', ...changes);
    expect([code, schemaFaults('replay', output)]).toEqual([0, []]);
    return JSON.parse(output) as Replayed;
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'dovetail-replay-'));
    expect(await ranCommand({ name: 'lab', folder, args: ['up'] })).toMatchObject({ code: 0 });
    const kubeconfigPath = join(folder, '.lab', 'kubeconfig');
    const kube = connectKubernetes({ kubeconfigPath, log: silent });
    await kube.putManifests(poolManifest({ clusterName, instanceTypes: types }));
    const web = { name: 'web', replicas: 7, cpu: '700m', memory: '500Mi' };
    await kube.putManifests(deploymentManifest(web));
    await eventually('a launch', async () => (await decided('launch')).length > 0);
  });
  afterAll(async () => {
    await ranCommand({ name: 'lab', folder, args: ['down'] });
    await rm(folder, { recursive: true, force: true });
  });

  test('every plan is made again, to the byte, by the id of any of its decisions', async () => {
    for (const kind of ['plan', 'admit', 'launch'])
      for (const { id } of await decided(kind))
        expect(await run('replay', id)).toMatchObject({
          code: 0,
          output: expect.stringMatching(/^plan [0-9a-f]{32}: made again, the same to the byte \(/),
        });
    expect(await replayed()).toMatchObject({ same: true });
  });

  test('another price says what would be bought, and for how much', async () => {
    const { nodes } = await replayed();
    const used = [...new Set(nodes.map(({ instanceType }) => instanceType))];
    const dear = await replayed(...used.flatMap((type) => ['--price', `${type}=50`]));
    expect(dear.same).toBe(false);
    expect(dear.nodes.filter(({ now }) => now > 0).map(({ instanceType }) => instanceType)).toEqual(
      dear.nodes.flatMap(({ instanceType, now }) =>
        now > 0 && !used.includes(instanceType) ? [instanceType] : [],
      ),
    );
    const { output } = await run('replay', await planned(), '--price', `${used[0] ?? ''}=50`);
    expect(output).toMatch(/made again with --price .*=50, .* dearer\nrecorded: .*\nnow: {6}/);
  });

  test('another pool of the same name, and the prices of another catalog', async () => {
    const file = join(folder, 'pool.yaml');
    await writeFile(file, poolManifest({ clusterName, instanceTypes: ['m5.large'] }));
    const { nodes } = await replayed('-f', file);
    expect(nodes.filter(({ instanceType, now }) => now > 0 && instanceType !== 'm5.large')).toEqual(
      [],
    );
    expect((await replayed('--catalog', 'us-west-2')).now.priceMicrosPerHour).toBeGreaterThan(0);
  });

  test.each([
    [['replay', 'plan/none'], 66, 'kept decisions has the id plan/none'],
    [['replay', '0'.repeat(32)], 66, 'no record of plan 0000'],
    [['replay', 'plan/', '--price', 'm5.large'], 64, 'm5.large=0.05'],
    [['replay', 'plan/', '--price', 'm99.huge=1'], 64, '--price names m99.huge'],
    [['replay', 'plan/', '--catalog', 'mars-1'], 64, '--catalog mars-1 is neither'],
    [['replay', 'plan/', '--catalog', 'eu-west-1'], 64, 'none of the offerings'],
    [['replay', 'plan/', '-f', 'missing.yaml'], 64, 'no such file'],
    [['replay'], 64, "missing required argument 'decision'"],
  ])('%j ends with %d and says "%s"', async (args, code, text) => {
    const [, name = ''] = args;
    const whole = name === 'plan/' ? ['replay', await planned(), ...args.slice(2)] : args;
    expect(await run(...whole)).toMatchObject({ code, output: expect.stringContaining(text) });
  });

  test('without its lab, it says how to give an address', async () => {
    const id = await planned();
    await ranCommand({ name: 'lab', folder, args: ['down'] });
    expect(await run('replay', id)).toMatchObject({
      code: 69,
      output: expect.stringContaining('cannot be reached'),
    });
  });
});
