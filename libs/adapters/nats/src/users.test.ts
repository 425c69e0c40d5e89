import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { busRoles } from '@dovetail/contracts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { seedFile, usersFile, writeUsers } from './users.js';

describe('the users of a cluster', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'dovetail-users-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const text = (file: string): string => readFileSync(join(folder, file), 'utf8');

  test('each role has a seed that its owner alone may read, and an entry', async () => {
    const { files, kept } = await writeUsers('prod', folder);
    expect(files.map((file) => file.slice(folder.length + 1))).toEqual([
      ...busRoles.map(seedFile),
      usersFile,
    ]);
    expect(kept).toEqual([]);
    for (const role of busRoles) {
      expect(text(seedFile(role))).toMatch(/^SU[A-Z2-7]+\n$/);
      expect(statSync(join(folder, seedFile(role))).mode & 0o777).toBe(0o600);
      expect(text(usersFile)).toContain(`# ${role} of cluster prod`);
    }
    // A public key may hold these letters too, but it begins with a U.
    expect(text(usersFile)).not.toMatch(/\bSU[A-Z2-7]{20}/);
  });

  test('writing again keeps the seeds, and a seed that was deleted is made anew', async () => {
    await writeUsers('prod', folder);
    const before = text(seedFile('solver'));
    const conf = text(usersFile);
    rmSync(join(folder, seedFile('reader')));
    const { kept } = await writeUsers('prod', folder);
    expect(kept).toEqual(busRoles.filter((role) => role !== 'reader'));
    expect(text(seedFile('solver'))).toBe(before);
    expect(text(usersFile)).not.toBe(conf);
  });

  test.each([
    ['nonsense', 'x'],
    ['the seed of an account', 'SAAG5EMMVHF2UMXAV2EYXYLYEGQ3YXRJGDEXLZ5LYSAHQGRCJYDPU7PFHU'],
  ])('%s in the place of a seed is refused with the name of its file', async (_what, wrong) => {
    writeFileSync(join(folder, seedFile('solver')), wrong);
    await expect(writeUsers('prod', folder)).rejects.toThrow(/solver\.nk holds no seed of a user/);
    expect(text(seedFile('solver'))).toBe(wrong);
  });
});
