#!/usr/bin/env node
// What npm links as `dovetail`: the built command line, once there is one.
import { existsSync } from 'node:fs';

const built = new URL('../../../dist/cli.js', import.meta.url);
if (existsSync(built)) await import(built.href);
else {
  process.stderr.write('dovetail: not built yet; run `npm run build`\n');
  process.exitCode = 1;
}
