import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { CapacityType } from '@dovetail/core-ec2-model';
import { at } from '@dovetail/core-invariant';
import { messageOf } from '@dovetail/core-ports';

import { type BenchWorld } from '../worlds/objects.js';
import { kwokType, worldText } from './manifests.js';

const run = promisify(execFile);

/** Karpenter's scheduler on one world. Prices are US dollars per hour. */
export type PeerResult = {
  readonly pods: number;
  readonly unplaced: number;
  readonly nodes: readonly {
    readonly nodePool: string;
    readonly instanceType: string;
    readonly zone: string;
    readonly capacityType: CapacityType;
    readonly price: number;
    readonly pods: readonly string[];
  }[];
  /** Pods by the existing node that takes them. */
  readonly existing: Readonly<Record<string, readonly string[]>>;
  readonly pricePerHour: number;
  readonly prepareMilliseconds: number;
  readonly solveMilliseconds: number;
  readonly solveCpuMilliseconds: number;
  readonly maxResidentBytes: number;
};

const source = new URL('./../peers/karpenter-plan/', import.meta.url).pathname;
const binary = new URL('./../peers/bin/karpenter-plan', import.meta.url).pathname;

/** Go's own place of installation, which is not on every machine's path. */
const withGo = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/local/go/bin` };

/**
 * Builds the peer, which takes a second unless it changed. Returns false, and prints the reason,
 * without Go or its modules.
 */
export async function buildPeer(tell: (text: string) => void): Promise<boolean> {
  if (!existsSync(binary)) tell("building Karpenter's scheduler (Go), a minute or two\n");
  try {
    await run('go', ['build', '-o', binary, '.'], { cwd: source, env: withGo });
    return true;
  } catch (error) {
    tell(
      `without Karpenter: it cannot be built here (${messageOf(error).split('\n').slice(0, 3).join(' ')})\n`,
    );
    return false;
  }
}

/** Plans worlds with Karpenter's scheduler, all in one process of their own. */
export async function planAllWithPeer(
  worlds: readonly BenchWorld[],
): Promise<readonly PeerResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'planner-'));
  try {
    const types = new Map(
      worlds.flatMap(({ snapshot }) =>
        snapshot.pools.flatMap(({ instanceTypes }) =>
          instanceTypes.map((type) => [type.name, type] as const),
        ),
      ),
    );
    await writeFile(join(folder, 'types.json'), JSON.stringify([...types.values()].map(kwokType)));
    await writeFile(join(folder, 'worlds.json'), worlds.map(worldText).join('\n'));
    const { stdout } = await run(
      binary,
      ['-catalog', join(folder, 'types.json'), '-world', join(folder, 'worlds.json')],
      { maxBuffer: 1 << 28 },
    );
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as PeerResult);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Plans a world with Karpenter's scheduler, in a process of its own. */
export const planWithPeer = async (world: BenchWorld): Promise<PeerResult> =>
  at(await planAllWithPeer([world]), 0);
