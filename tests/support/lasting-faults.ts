import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { kubeResources } from '@dovetail/core-ports';
import { busOperator, type RunningPart, startReplica } from '@dovetail/testbed';
import { type JetStreamManager, jetstreamManager, type StreamInfo } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';

import { eventually, type TestWorld } from './world.js';

/** How long a right is denied, and a stream is full. A few tries of each service fall into it. */
const lastsMs = 5_000;

const asOperator = async (
  world: TestWorld,
  work: (manager: JetStreamManager) => Promise<void>,
): Promise<void> => {
  const connection = await connect({ servers: world.lab.natsUrl, ...busOperator });
  try {
    await work(await jetstreamManager(connection));
  } finally {
    await connection.close();
  }
};

/** Deletes all that the streams hold. */
export const purgeStreams = (world: TestWorld): Promise<void> =>
  asOperator(world, async (manager) => {
    for await (const stream of manager.streams.list())
      await manager.streams.purge(stream.config.name);
  });

/**
 * Leaves the streams no room for a while. One of state refuses what is published, and the others
 * lose their oldest.
 */
export const fillStreams = (world: TestWorld): Promise<void> =>
  asOperator(world, async (manager) => {
    const before: StreamInfo[] = [];
    for await (const stream of manager.streams.list()) before.push(stream);
    for (const { config, state } of before)
      await manager.streams.update(config.name, { max_bytes: Math.max(1, state.bytes) });
    await delay(lastsMs);
    for (const { config } of before)
      await manager.streams.update(config.name, { max_bytes: config.max_bytes });
  });

/** The program of each service that has a role in AWS. */
const programs = ['launcher', 'reaper'] as const;
const policiesFolder = join(import.meta.dirname, '..', '..', 'deploy', 'iam');
const denial = JSON.stringify({
  Version: '2012-10-17',
  Statement: [
    {
      Sid: 'Struck',
      Effect: 'Deny',
      Action: ['ec2:CreateFleet', 'ec2:TerminateInstances'],
      Resource: '*',
    },
  ],
});

/** Denies the services to launch and to end instances for a while. */
export async function denyRights(world: TestWorld): Promise<void> {
  const grant = async (more: readonly string[]): Promise<void> => {
    for (const program of programs) {
      const shipped = await readFile(join(policiesFolder, `${program}.json`), 'utf8');
      const policies = [shipped, ...more];
      await world.cloud('POST', 'identities', {
        accessKey: program,
        role: `lab-${program}`,
        policies,
      });
    }
  };
  await grant([denial]);
  await delay(lastsMs);
  await grant([]);
}

/** The name of the replica that holds a service's Lease; its holder is `<replica>-<random>`. */
async function leaderOf(world: TestWorld, service: string): Promise<string> {
  const lease = await world.kube.get({
    resource: kubeResources.leases,
    namespace: 'kube-system',
    name: `dovetail-${service}`,
  });
  const { holderIdentity } = (lease?.['spec'] ?? {}) as { readonly holderIdentity?: string };
  return (holderIdentity ?? '').replace(/-[0-9a-f]+$/, '');
}

/**
 * Stops the leader in the middle of its work until another replica leads, and then lets it go on as
 * if nothing had happened.
 */
export async function pauseLeader(world: TestWorld, service: 'launcher' | 'reaper'): Promise<void> {
  const { lab } = world;
  if (!lab.parts.has(`${service}-1`)) await startReplica(lab, `${service}-1`);
  const paused = await eventually(`a leader of ${service}`, async () => {
    const name = await leaderOf(world, service);
    const part = lab.parts.get(name);
    return part?.running === true ? { name, part } : undefined;
  });
  await whileStopped(paused.part, () =>
    eventually(`another leader of ${service} than ${paused.name}`, async () => {
      const name = await leaderOf(world, service);
      return name !== '' && name !== paused.name;
    }),
  );
}

async function whileStopped(part: RunningPart, meanwhile: () => Promise<unknown>): Promise<void> {
  await part.kill('SIGSTOP');
  try {
    await meanwhile();
  } finally {
    await part.kill('SIGCONT');
  }
}
