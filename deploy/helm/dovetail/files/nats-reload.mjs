// Makes nats-server read its users and its certificate again when they change, without a restart. The kubelet renews the
// mounted files within about a minute of a change of their Secrets.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const [processes, ...folders] = process.argv.slice(1);

function digest() {
  const hash = createHash('sha256');
  for (const folder of folders)
    // Names that begin with dots are the kubelet's own links.
    for (const name of readdirSync(folder).filter((each) => !each.startsWith('.')).sort())
      hash.update(`${name}\n`).update(readFileSync(join(folder, name)));
  return hash.digest('hex');
}

// The containers of the pod share their processes.
function servers() {
  return readdirSync(processes).filter((entry) => {
    try {
      return /^\d+$/.test(entry) && readFileSync(join(processes, entry, 'comm'), 'utf8') === 'nats-server\n';
    } catch {
      return false; // It has ended meanwhile.
    }
  });
}

process.on('SIGTERM', () => process.exit(0));
let last = digest();
for (;;) {
  await pause(5_000);
  try {
    const now = digest();
    if (now === last) continue;
    const found = servers();
    for (const pid of found) process.kill(Number(pid), 'SIGHUP');
    console.log(`the files have changed: ${found.length} server reads them again`);
    last = now;
  } catch (error) {
    console.error(`the files cannot be read now: ${error.message}`);
  }
}
