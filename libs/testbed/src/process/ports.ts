import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

import { TestbedError } from './errors.js';

// Below the range from which systems draw ports for outgoing connections (from 32768 on Linux,
// 49152 elsewhere). Another connection could take a port of that range before the part starts, or
// while it restarts.
const portRange = { first: 20_000, last: 32_000 } as const;
const triesMax = 200;
const handedOut = new Set<number>();

/** A loopback port on which nothing listens now. A process gets each port only once. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < triesMax; tries++) {
    const port = randomInt(portRange.first, portRange.last);
    if (handedOut.has(port) || !(await canListen(port))) continue;
    handedOut.add(port);
    return port;
  }
  throw new TestbedError({
    failed: `no free loopback port between ${portRange.first} and ${portRange.last} in ${triesMax} tries`,
    remedy: 'end the processes that listen there',
  });
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () =>
      server.close(() => resolve(true)),
    );
  });
}
