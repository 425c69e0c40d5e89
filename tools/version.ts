// Compares all places that name the version with package.json, or writes another one into all.
// Usage: tsx tools/version.ts [VERSION]   (exit code 1: a place names another version; 64: this is
// no version)
import { readFileSync, writeFileSync } from 'node:fs';

import { lockedAs, otherVersions, versionFiles } from './release/versions.js';
import { manifestAt } from './workspace.js';

const lockFile = 'package-lock.json';

function write(version: string): void {
  for (const { file, place } of versionFiles()) {
    const text = readFileSync(file, 'utf8');
    const after = text.replaceAll(place.version, version);
    if (after !== text) writeFileSync(file, after);
  }
  writeFileSync(lockFile, lockedAs(readFileSync(lockFile, 'utf8'), version));
  process.stdout.write(
    `every place names ${version}; run \`npm run reference\`, and give the changelog its section\n`,
  );
}

function check(version: string): void {
  const others = otherVersions(version);
  for (const line of others) process.stderr.write(`${line}\n`);
  process.exitCode = others.length > 0 ? 1 : 0;
  process.stdout.write(
    others.length > 0
      ? `package.json says ${version}: run \`tsx tools/version.ts ${version}\`\n`
      : `every place names ${version}\n`,
  );
}

const [wanted] = process.argv.slice(2);
if (wanted === undefined) check(manifestAt('package.json').version);
else if (/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(wanted)) write(wanted);
else {
  process.stderr.write(`version: "${wanted}" is no version: give one as 1.2.3 or 1.2.3-rc.1\n`);
  process.exitCode = 64;
}
