import { describe, expect, test } from '@jest/globals';
import { kubeResources } from '@dovetail/core-ports';
import { memoryBus } from '@dovetail/sim-bus';
import { instanceIdOf } from './launch/intent.js';
import { claimFrom } from './world/parsing.js';
import { eventually, planningPossible, podObject, readyPool, stage, type Stage } from './testing/harness.js';
import { mortal, type Mortal } from './testing/mortal.js';

const { pods, nodeClaims } = kubeResources;
const phaseOf = (pod: { readonly [field: string]: unknown }): string => (pod['status'] as { phase?: string } | undefined)?.phase ?? '';

/** A scale-up of six pods that need two nodes; the launcher dies around its n-th effect and another takes over. */
async function scaleUp(death: { readonly at: number; readonly when: 'before' | 'after' }): Promise<{ readonly victim: Mortal; readonly self: Stage }> {
  const self = await stage({ leaseMs: 250, scheduler: true });
  await readyPool(self);
  const victim = mortal({ kube: self.kube, cloud: self.cloud, bus: memoryBus(self.server) }, death);
  self.launcher('victim', victim).abandon();
  await Promise.race([planningPossible(self), eventually('its death', () => victim.dead(), 10_000)]);
  for (let count = 0; count < 6; count += 1) await self.kube.create(pods, podObject(`p${count}`, { cpu: '5' }));
  await eventually('the pods in the solver\'s view', () => self.world.pods.size === 6);
  self.planAlways();
  try { await disturbed(self, victim, death); } catch (error) {
    const claims = (await self.kube.list(nodeClaims)).map((claim) => JSON.stringify({ name: claim.metadata.name, deleted: claim.metadata.deletionTimestamp, annotations: Object.keys(claim.metadata.annotations ?? {}), status: claim['status'] }));
    const waiting = (await self.kube.list(pods)).filter((pod) => phaseOf(pod) !== 'Running').map((pod) => pod.metadata.name);
    await self.end();
    throw new Error(`${String(error)}\n${self.log.lines.slice(-25).map((line) => line.slice(0, 300)).join('\n')}\n${claims.join('\n')}\nwaiting: ${waiting.join()}`);
  }
  return { victim, self };
}

async function disturbed(self: Stage, victim: Mortal, death: { readonly at: number }): Promise<void> {
  const running = async (): Promise<boolean> => { const all = await self.kube.list(pods); return all.length === 6 && all.every((pod) => phaseOf(pod) === 'Running'); };
  await eventually('running pods or death', async () => victim.dead() || running(), 10_000);
  if (victim.dead()) self.launcher('successor');
  await eventually(`running pods after ${victim.effects().at(death.at - 1) ?? 'nothing'}`, running, 15_000);
}

async function settled(self: Stage): Promise<{ readonly instances: readonly string[]; readonly paired: readonly string[] }> {
  return eventually('every claim with its instance', async () => {
    const claims = (await self.kube.list(nodeClaims)).map(claimFrom);
    const paired = claims.flatMap((claim) => (claim.providerId === undefined ? [] : (instanceIdOf(claim) ?? [])));
    return paired.length === claims.length && { paired: paired.sort(), instances: self.twin.instances.all().map((instance) => instance.id).sort() };
  });
}

describe('a launcher that dies', () => {
  let effects = 0;
  test('has a known number of effects in a scale-up that nothing disturbs', async () => {
    const { victim, self } = await scaleUp({ at: Number.MAX_SAFE_INTEGER, when: 'before' });
    effects = victim.effects().length;
    expect([...new Set(victim.effects())]).toEqual(expect.arrayContaining(['create nodeclaims', 'createFleet', 'patch nodeclaims', 'patch nodeclaims/status', 'patch nodes', 'bind', 'ack', 'tell verdict']));
    expect((await settled(self)).instances).toHaveLength(2);
    await self.end();
  }, 30_000);

  test.each(['before', 'after'] as const)('%s any effect leaves no pod stranded, no instance doubled and no claim without an instance', async (when) => {
    // What holds before an effect mostly held after the one before it: every third is enough of the first kind.
    const cases = Array.from({ length: effects }, (_each, index) => index + 1).filter((at) => when === 'after' || at % 3 === 1);
    const lanes = 6;
    const failures: string[] = [];
    await Promise.all(Array.from({ length: lanes }, async (_each, lane) => {
      for (const at of cases.filter((n) => n % lanes === lane)) {
        try {
          const { victim, self } = await scaleUp({ at, when });
          const { instances, paired } = await settled(self);
          if (instances.length !== 2 || paired.join() !== instances.join()) failures.push(`${when} ${at} (${victim.effects()[at - 1] ?? ''}): instances ${instances.join()} paired ${paired.join()}`);
          await self.end();
        } catch (error) {
          failures.push(`${when} ${at}: ${String(error)}`);
        }
      }
    }));
    expect(failures).toEqual([]);
  }, 280_000);
});
