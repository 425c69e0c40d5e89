import { instanceIdOf } from '@dovetail/core-cluster';
import { kubeResources } from '@dovetail/core-ports';
import { type Death, Mortal, podObject } from '@dovetail/sim-stage';
import { describe, expect, test } from 'vitest';

import { claimFrom } from './cluster/readings.js';
import { type LauncherPorts, type LauncherStage, launcherStage } from './testing/launcher-stage.js';

const { pods, nodeClaims } = kubeResources;
const phaseOf = (pod: { readonly [field: string]: unknown }): string =>
  (pod['status'] as { phase?: string } | undefined)?.phase ?? '';

type ScaleUp = { readonly victim: Mortal<LauncherPorts>; readonly self: LauncherStage };

/**
 * A scale-up of six pods that need two nodes; the launcher dies around one effect and another takes
 * over.
 */
async function scaleUp(death?: Death): Promise<ScaleUp> {
  const self = await launcherStage({ controlPlane: {} });
  await self.readyPool();
  const victim = new Mortal(self.ports(), death, self.stop.signal);
  self.launcher('victim', { life: victim });
  await Promise.race([
    self.planningPossible(),
    self.until('its death', () => victim.dead(), 10_000),
  ]);
  for (let count = 0; count < 6; count += 1)
    await self.kube.create(pods, podObject(`p${count}`, { cpu: '5', spec: quick }));
  self.planner.planAlways();
  const running = (): boolean => {
    const all = self.list(pods);
    return all.length === 6 && all.every((pod) => phaseOf(pod) === 'Running');
  };
  await self.until('running pods or death', () => victim.dead() || running());
  if (victim.dead()) self.launcher('successor');
  await self.until(`running pods after ${victim.effects.at(-1) ?? 'nothing'}`, running);
  return { victim, self };
}
const quick = { terminationGracePeriodSeconds: 0 };

type Outcome = { readonly instances: readonly string[]; readonly paired: readonly string[] };

/** The instances there are and those that claims name, once every claim names one. */
const settled = (self: LauncherStage): Promise<Outcome> =>
  self.until('every claim with its instance', () => {
    const claims = self.list(nodeClaims).map(claimFrom);
    const paired = claims.flatMap((claim) =>
      claim.providerId === undefined ? [] : (instanceIdOf(claim) ?? []),
    );
    const instances = self.twin.instances.all().map((instance) => instance.id);
    return (
      paired.length === claims.length && { paired: paired.sort(), instances: instances.sort() }
    );
  });

/** The faults after a launcher died there; empty if there are none. */
async function faultsOf(death: Death): Promise<string> {
  try {
    const { victim, self } = await scaleUp(death);
    const { instances, paired } = await settled(self);
    self.end();
    return instances.length === 2 && paired.join() === instances.join()
      ? ''
      : `${JSON.stringify(death)} (${victim.effects.at(-1) ?? ''}): instances ${instances.join()} paired ${paired.join()}`;
  } catch (error) {
    return `${JSON.stringify(death)}: ${String(error)}`;
  }
}

describe('a launcher that dies', () => {
  let effects = 0;
  test('has a known number of effects in a scale-up that nothing disturbs', async () => {
    const { victim, self } = await scaleUp();
    effects = victim.effects.length;
    expect([...new Set(victim.effects)]).toEqual(
      expect.arrayContaining([
        'create nodeclaims',
        'createFleet',
        'patch nodeclaims',
        'patch nodeclaims/status',
        'patch nodes',
        'bind',
        'ack',
        'publish verdict',
      ]),
    );
    expect((await settled(self)).instances).toHaveLength(2);
    self.end();
  });

  test.each(['before', 'after'] as const)(
    '%s any effect leaves no pod stranded, no instance doubled and no claim without an instance',
    async (when) => {
      const faults: string[] = [];
      for (let at = 1; at <= effects; at += 1) faults.push(await faultsOf({ at, when }));
      expect(faults.filter((fault) => fault !== '')).toEqual([]);
    },
  );
});
