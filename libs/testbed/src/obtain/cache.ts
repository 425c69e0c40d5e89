import { randomUUID } from 'node:crypto';
import { link, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { codeOf } from '../process/errors.js';
import { isAlive } from '../process/part.js';
import { waitFor } from '../process/wait.js';
import type { ObtainOptions } from './obtained.js';

/** One item of the cache: its folder, how to fill it, and how to check it. */
export type Installation = Required<ObtainOptions> & {
  readonly name: string;
  readonly isGood: (folder: string) => Promise<boolean>;
  /** Fills an empty folder, which takes the installation's name only when all went well. */
  readonly fill: (folder: string) => Promise<void>;
  readonly deadlineMs: number;
};

const draftMark = '.draft-';

/**
 * Returns the installation's folder, and fills it when it is missing or damaged. The folder appears
 * whole, by rename. A second process waits for the first. If both do the work (the lock looked
 * stale), the later rename finds the folder there, and that one is used.
 */
export async function installOnce(job: Installation): Promise<string> {
  const folder = join(job.cacheDir, job.name);
  if (await job.isGood(folder)) return folder;
  await mkdir(job.cacheDir, { recursive: true });
  const giveBack = await takeTurn(`${folder}.lock`, job);
  try {
    if (!(await job.isGood(folder))) await fillAndRename(folder, job);
    return folder;
  } finally {
    await giveBack();
  }
}

async function fillAndRename(folder: string, job: Installation): Promise<void> {
  await removeDrafts(job);
  const draft = `${folder}${draftMark}${randomUUID()}`;
  await mkdir(draft);
  try {
    await job.fill(draft);
    await rm(folder, { recursive: true, force: true });
    await rename(draft, folder);
  } catch (thrown) {
    if (!(await job.isGood(folder))) throw thrown;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/**
 * Removes the drafts of killed processes, which can hold hundreds of megabytes. The lock ensures
 * that none is in use.
 */
async function removeDrafts({ cacheDir, name }: Installation): Promise<void> {
  const left = (await readdir(cacheDir)).filter((entry) => entry.startsWith(`${name}${draftMark}`));
  await Promise.all(
    left.map((entry) => rm(join(cacheDir, entry), { recursive: true, force: true })),
  );
}

async function takeTurn(lockFile: string, job: Installation): Promise<() => Promise<void>> {
  // Written elsewhere and linked into place, so that a lock never lacks its process number.
  const ticket = `${lockFile}-${randomUUID()}`;
  await writeFile(ticket, String(process.pid));
  let announced = false;
  try {
    await waitFor(
      async () => {
        if (await tryLink(ticket, lockFile)) return true;
        if (!announced) job.log(`${job.name}: waiting for another process that installs it`);
        announced = true;
        await removeStale(lockFile);
        return false;
      },
      {
        what: `another process to finish ${job.name} (lock ${lockFile})`,
        deadlineMs: job.deadlineMs,
        everyMs: 200,
      },
    );
  } finally {
    await rm(ticket, { force: true });
  }
  return () => rm(lockFile, { force: true });
}

async function tryLink(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === 'EEXIST') return false;
    throw thrown;
  }
}

/** A process that died while it held the lock left it behind. */
async function removeStale(lockFile: string): Promise<void> {
  const holder = Number(await readFile(lockFile, 'utf8').catch(() => ''));
  if (holder > 0 && !isAlive(holder)) await rm(lockFile, { force: true });
}
