import { parseArgs } from 'node:util';

import { shrunk, simulate } from './simulation.js';

const usage = `usage: npm run simulate:faults -- [--seed N] [--hours H] [--stories S]

Plays random stories of users and faults on the twins, in virtual time, and checks after each that
no pod is stranded, no instance is doubled or leaked, and none is ended while its claim stands.
  --seed N     the first story's seed (default: drawn anew, and printed)
  --hours H    virtual hours of each story (default 4)
  --stories S  how many stories (default 10)
A story that breaks something is shrunk, printed, and ends the run with exit code 1.
`;

const { values } = parseArgs({
  args: process.argv.slice(2).filter((arg) => arg !== '--'),
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    hours: { type: 'string', default: '4' },
    stories: { type: 'string', default: '10' },
    help: { type: 'boolean', default: false },
  },
});

async function main(): Promise<void> {
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const [seed, hours, stories] = [
    Number(values.seed),
    Number(values.hours),
    Number(values.stories),
  ];
  let played = 0;
  const startedMs = performance.now();
  for (let story = seed; story < seed + stories; story += 1) {
    const ended = await simulate(story, hours);
    played += ended.hours;
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    process.stdout.write(
      `seed ${String(story)}: ${String(ended.lines.length)} lines, ${ended.breaches.length === 0 ? 'nothing broken' : ended.breaches.join('; ')} (${played.toFixed(1)} h in ${String(seconds)} s)\n`,
    );
    if (ended.breaches.length === 0) continue;
    const short = await shrunk(ended.lines, {
      tell: (lines) => process.stderr.write(`  shrunk to ${String(lines)} lines\n`),
    });
    process.stdout.write(`\n${short.join('\n')}\n`);
    process.exitCode = 1;
    return;
  }
}

await main();
