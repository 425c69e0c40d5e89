import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

/**
 * Every setting of every built service, given values that nobody means. A service refuses them
 * before it does anything, and names the setting, the value and the remedy.
 */
const root = join(import.meta.dirname, '..', '..');
const services = ['pod-watcher', 'solver', 'launcher', 'reaper', 'console', 'sinks'] as const;
type Service = (typeof services)[number];

function start(
  service: Service,
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): { readonly status: number | null; readonly stdout: string; readonly stderr: string } {
  return spawnSync(process.execPath, [join(root, 'dist', `${service}.js`), ...args], {
    env,
    encoding: 'utf8',
    timeout: 120_000,
    killSignal: 'SIGKILL',
  });
}

const settingsOf = (service: Service): readonly string[] =>
  [...start(service, {}, '--help').stdout.matchAll(/^ {2}--\S+, (\S+) \(/gm)].map(
    ([, name = '']) => name,
  );

/** The settings that may have the value; all others refuse it. */
const accepted: readonly (readonly [value: string, settings: readonly string[]])[] = [
  [' ', []],
  [' 1', []],
  ['x ', []],
  ['a\nb', []],
  ['ü', ['NATS_URL', 'TEXT']],
  ['-1', ['INTERRUPTION_QUEUE', 'DEFAULT_INSTANCE_PROFILE', 'TEXT']],
  [
    '1e999',
    ['CLUSTER_NAME', 'HTTP_HOST', 'LEASE_NAMESPACE', 'NATS_URL', 'PAGE_HOSTS', 'QUEUE', 'TEXT'],
  ],
  ['NaN', ['CLUSTER_NAME', 'HTTP_HOST', 'NATS_URL', 'PAGE_HOSTS', 'QUEUE', 'TEXT']],
  ['0x10', ['CLUSTER_NAME', 'HTTP_HOST', 'LEASE_NAMESPACE', 'PAGE_HOSTS', 'QUEUE', 'TEXT']],
  ['99999999999999999999', ['CLUSTER_NAME', 'LEASE_NAMESPACE', 'PAGE_HOSTS', 'QUEUE', 'TEXT']],
  [
    '9999999999h',
    ['CLUSTER_NAME', 'HTTP_HOST', 'LEASE_NAMESPACE', 'NATS_URL', 'PAGE_HOSTS', 'QUEUE', 'TEXT'],
  ],
  [
    '10d',
    ['CLUSTER_NAME', 'HTTP_HOST', 'LEASE_NAMESPACE', 'NATS_URL', 'PAGE_HOSTS', 'QUEUE', 'TEXT'],
  ],
];
/** Settings that take the same free names. */
const groups: Readonly<Record<string, readonly string[]>> = {
  QUEUE: ['INTERRUPTION_QUEUE', 'DEFAULT_INSTANCE_PROFILE', 'REPLICA_NAME'],
  TEXT: ['TEST_CLOCK_FILE', 'LOG_LEVEL_FILE'],
};

describe.each(services)('%s', (service) => {
  const names = settingsOf(service);
  test('lists its settings', () => expect(names.length).toBeGreaterThan(8));

  test.each(accepted)('given %j everywhere, refuses it by name, value and remedy', (value, may) => {
    const taken = may.flatMap((name) => groups[name] ?? [name]);
    // A wrong level is among the settings in each case, so no service starts.
    const { status, stdout, stderr } = start(
      service,
      Object.fromEntries(names.map((name) => [name, value])),
    );
    const said = stderr.split('\n  - ').slice(1);
    const refused = names.filter((name) =>
      said.some((line) => line.includes(`(or ${name}) is ${JSON.stringify(value)}: `)),
    );
    expect(names.filter((name) => !refused.includes(name))).toEqual(
      names.filter((name) => taken.includes(name)),
    );
    expect(said.filter((line) => !/: (\S+: )?(give|leave it out)\b/.test(line))).toEqual([]);
    expect({ status, stdout }).toEqual({ status: 64, stdout: '' });
  });

  test('given nothing, says which settings are missing, and takes empty ones for absent', () => {
    const empty = Object.fromEntries(names.map((name) => [name, '']));
    const { status, stderr } = start(service, empty);
    expect(stderr).toBe(start(service, {}).stderr);
    expect(stderr).toMatch(/--cluster-name \(or CLUSTER_NAME\) is missing: /);
    expect(status).toBe(64);
  });

  test('given a flag that is none, names it', () =>
    expect(start(service, {}, '--htpp-port', '1')).toMatchObject({
      status: 64,
      stderr: expect.stringMatching(/--htpp-port.*--help/s),
    }));
});

test('a service whose port is taken says so and ends, though it has begun to connect', async () => {
  const taken = createServer();
  const port = await new Promise<number>((resolve) => {
    taken.listen(0, '127.0.0.1', () => {
      const address = taken.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
  const { status, stderr } = start('solver', {
    CLUSTER_NAME: 'lab',
    NATS_URL: 'nats://127.0.0.1:1',
    HTTP_HOST: '127.0.0.1',
    HTTP_PORT: String(port),
  });
  taken.close();
  expect(stderr).toMatch(
    new RegExp(`HTTP_HOST.*HTTP_PORT\\) ${port}: .*EADDRINUSE.*Give an address`),
  );
  expect(status).toBe(64);
});
