import { instanceIdOf } from '@dovetail/core-cluster';
import { kubeResources } from '@dovetail/core-ports';
import { Mortal, podObject } from '@dovetail/sim-stage';
import { afterEach, expect, test } from 'vitest';

import { claimFrom } from '../cluster/readings.js';
import { defaultLauncherConfig } from '../config.js';
import { type LauncherStage, launcherStage } from '../testing/launcher-stage.js';

let self: LauncherStage;
afterEach(() => {
  self.end();
});
const { pods, nodeClaims } = kubeResources;

test('an instance that EC2 shows late is adopted by the claim that is left of its intent, not bought again', async () => {
  self = await launcherStage({ leaseMs: 1_000, cloud: { consistencyMs: 20_000 } });
  await self.readyPool();
  const death = { when: 'after', effect: 'createFleet' } as const;
  const victim = new Mortal(self.ports(), death, self.stop.signal);
  self.launcher('victim', { life: victim });
  await self.planningPossible();
  const names = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5'];
  for (const name of names) await self.kube.create(pods, podObject(name, { cpu: '5' }));
  await self.until('the pods in view', () => self.planner.cluster.pods.size === names.length);
  await self.planner.planFor(names);
  await self.until('its death', () => victim.dead());
  const bought = self.twin.instances.all().map(({ id }) => id);
  expect(bought).toHaveLength(2);
  // A person takes one of the two claims away, with its finalizer.
  const [lost] = self.list(nodeClaims);
  const ref = { resource: nodeClaims, name: lost?.metadata.name ?? '' };
  await self.kube.patch(ref, { type: 'merge', body: { metadata: { finalizers: null } } });
  await self.kube.delete(ref);
  self.launcher('successor');
  const paired = await self.until('the other with its instance', () => {
    const claims = self.list(nodeClaims).map(claimFrom);
    return claims.length === 1 && claims.flatMap((claim) => instanceIdOf(claim) ?? [])[0];
  });
  expect(bought).toContain(paired);
  expect(self.twin.instances.all()).toHaveLength(2);
});

test('instances that EC2 leaves out of the answer to a repeated request are found by their tag', async () => {
  self = await launcherStage({ leaseMs: 1_000 });
  await self.readyPool();
  const ports = self.ports();
  const sent = new Set<string>();
  const createFleet: typeof ports.cloud.createFleet = async (request) => {
    const isRepeated = sent.has(request.clientToken);
    sent.add(request.clientToken);
    const outcome = await ports.cloud.createFleet(request);
    return isRepeated ? { ...outcome, instances: [], errors: [] } : outcome;
  };
  const answering = { ...ports, cloud: { ...ports.cloud, createFleet } };
  const death = { when: 'after', effect: 'createFleet' } as const;
  const victim = new Mortal(answering, death, self.stop.signal);
  self.launcher('victim', { life: victim });
  await self.planningPossible();
  await self.kube.create(pods, podObject('p0'));
  await self.until('the pod in view', () => self.planner.cluster.pods.size === 1);
  await self.planner.planFor(['p0']);
  await self.until('its death', () => victim.dead());
  const [bought] = self.twin.instances.all().map(({ id }) => id);
  self.launcher('successor', { ports: { ...answering, bus: self.connect() } });
  const paired = await self.until('the claim with its instance', () => {
    const claims = self.list(nodeClaims).map(claimFrom);
    return claims.flatMap((claim) => instanceIdOf(claim) ?? [])[0];
  });
  expect([paired, sent.size, self.twin.instances.all().length]).toEqual([bought, 1, 1]);
});

test('a request is not sent again once EC2 may have forgotten its token: its instances are looked up', async () => {
  self = await launcherStage({ leaseMs: 1_000 });
  await self.readyPool();
  const ports = self.ports();
  const sent: string[] = [];
  const createFleet: typeof ports.cloud.createFleet = (request) => {
    sent.push(request.clientToken);
    return ports.cloud.createFleet(request);
  };
  const counting = { ...ports, cloud: { ...ports.cloud, createFleet } };
  const config = { lifecycle: { ...defaultLauncherConfig.lifecycle, launchTimeoutMs: 3_600_000 } };
  const death = { when: 'after', effect: 'createFleet' } as const;
  const victim = new Mortal(counting, death, self.stop.signal);
  self.launcher('victim', { life: victim, config });
  await self.planningPossible();
  await self.kube.create(pods, podObject('p0'));
  await self.until('the pod in view', () => self.planner.cluster.pods.size === 1);
  await self.planner.planFor(['p0']);
  await self.until('its death', () => victim.dead());
  const [bought] = self.twin.instances.all().map(({ id }) => id);
  await self.advance(defaultLauncherConfig.launch.resendMaxMs + 60_000);
  self.launcher('successor', { ports: { ...counting, bus: self.connect() }, config });
  const paired = await self.until('the claim with its instance', () => {
    const claims = self.list(nodeClaims).map(claimFrom);
    return claims.flatMap((claim) => instanceIdOf(claim) ?? [])[0];
  });
  expect([paired, sent.length, self.twin.instances.all().length]).toEqual([bought, 1, 1]);
});
