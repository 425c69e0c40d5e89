import { join } from 'node:path';

import { startPart } from '../index.js';

// Starts a part that logs into the given folder, prints its process number, and waits to be killed.
const [, , dir = '.'] = process.argv;
const part = await startPart({
  name: 'sleeper',
  command: '/bin/sh',
  args: ['-c', 'sleep 600 & wait'], // a child of the part has to go too
  logFile: join(dir, 'sleeper.log'),
  ready: () => true,
  readyDeadlineMs: 5_000,
});
process.stdout.write(`${part.pid}\n`);
process.stdin.resume();
