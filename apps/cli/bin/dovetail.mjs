#!/usr/bin/env node
// npm links this file as `dovetail` before anything is built, so it is plain JavaScript. It starts
// the built command.
import { existsSync } from 'node:fs';

const built = new URL('../../../dist/cli.js', import.meta.url);
if (existsSync(built)) await import(built.href);
else {
  process.stderr.write('dovetail: not built yet; run `npm run build`\n');
  process.exitCode = 1;
}
