import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type KubeObject, kubeResources } from '@dovetail/core-ports';
import type { StoryStage } from '@dovetail/stories';

const { nodePools, pods } = kubeResources;
const nodeClasses = kubeResources.ec2NodeClasses;
const main = new URL('../../dist/cli.js', import.meta.url).pathname;

/** A pod as it was before it had a node. */
const unbound = ({ metadata, spec, ...pod }: KubeObject): KubeObject => {
  const { nodeName: _node, ...rest } = spec as Record<string, unknown>;
  const { name, namespace, labels } = metadata;
  return { ...pod, metadata: { name, namespace, labels } as KubeObject['metadata'], spec: rest };
};

/** The price of a plan from nothing for the pods of a stage, and the least of any plan. */
export async function fresh(
  stage: StoryStage,
): Promise<{ readonly least: number; readonly lowerBound: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'settle-'));
  const items = [
    ...stage.list(nodeClasses),
    ...stage.list(nodePools),
    ...stage.list(pods).map(unbound),
  ];
  const file = join(folder, 'world.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  const args = [
    main,
    'simulate',
    '-f',
    file,
    '--budget',
    '10s',
    '-o',
    'json',
    '--region',
    'us-west-2',
  ];
  const text = await new Promise<string>((resolve, reject) =>
    execFile(process.execPath, args, { maxBuffer: 1e9 }, (error, stdout, stderr) =>
      // A plan that leaves pods out ends with a code of its own, after its output.
      stdout === ''
        ? reject(new Error(`simulate printed nothing: ${stderr}`, { cause: error }))
        : resolve(stdout),
    ),
  );
  await rm(folder, { recursive: true });
  const { cost } = JSON.parse(text) as { cost: { hourly: number; lowerBound: number } };
  return { least: cost.hourly * 1e6, lowerBound: cost.lowerBound * 1e6 };
}
