import { kubeResources, Stopper } from '@dovetail/core-ports';
import { Mortal, podObject } from '@dovetail/sim-stage';
import { expect, test } from 'vitest';

import { type LauncherPorts, launcherStage } from './testing/launcher-stage.js';

const { pods } = kubeResources;
/** Writes that go to the bus: they carry the epoch, and a successor's count after them. */
const toBus = /^(publish|request|ack|nak)/;

/** The ports of a launcher that loses its Lease once it has made this many writes. */
function until(lastWrite: number, ports: LauncherPorts, office: Stopper): LauncherPorts {
  let made = 0;
  const counted = <T extends object>(port: T, writes: ReadonlySet<PropertyKey>): T =>
    new Proxy(port, {
      get: (target, name) => {
        const method = target[name as keyof T] as unknown as (...given: unknown[]) => unknown;
        return (...given: unknown[]): unknown => {
          const isEvent =
            (given[0] as { readonly plural?: string } | undefined)?.plural === 'events';
          if (writes.has(name) && !isEvent) {
            made += 1;
            if (made === lastWrite) office.abort();
          }
          return method.apply(target, given);
        };
      },
    });
  return {
    ...ports,
    kube: counted(ports.kube, new Set(['create', 'patch', 'delete', 'bind'])),
    cloud: counted(
      ports.cloud,
      new Set([
        'ensureLaunchTemplate',
        'deleteLaunchTemplate',
        'createFleet',
        'tagInstances',
        'ensureInstanceProfile',
        'deleteInstanceProfile',
      ]),
    ),
  };
}

/** Plays a scale-up of six pods on two nodes. Answers the writes to cluster and EC2, in order. */
async function writesOf(lastWrite: number): Promise<readonly string[]> {
  const self = await launcherStage({ controlPlane: {} });
  const office = new Stopper();
  const life = new Mortal(until(lastWrite, self.ports(), office), undefined, self.stop.signal);
  await self.readyPool();
  self.launcher('leader', { life, office });
  const lost = (): boolean => office.aborted;
  await Promise.race([self.planningPossible(), self.until('the end of its office', lost)]);
  for (let count = 0; count < 6; count += 1)
    await self.kube.create(
      pods,
      podObject(`p${count}`, { cpu: '5', spec: { terminationGracePeriodSeconds: 0 } }),
    );
  self.planner.planAlways();
  const running = (): boolean =>
    self
      .list(pods)
      .every((pod) => (pod['status'] as { phase?: string } | undefined)?.phase === 'Running');
  await self.until('running pods, or the end of its office', () => lost() || running());
  await self.advance(60_000);
  self.end();
  return life.effects.filter((effect) => !toBus.test(effect));
}

test('a leader that lost its Lease writes nothing more, between any two writes', async () => {
  const all = await writesOf(Infinity);
  expect(all.length).toBeGreaterThan(15);
  for (let last = 1; last <= all.length; last += 1) expect(await writesOf(last)).toHaveLength(last);
});
