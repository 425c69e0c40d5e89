import type { FleetOutcome } from '@dovetail/core-ec2-model';
import { kubeResources } from '@dovetail/core-ports';
import { conditionOf } from '@dovetail/service-kit';
import { podObject } from '@dovetail/sim-stage';
import { afterEach, expect, test } from 'vitest';

import { claimFrom } from '../cluster/readings.js';
import { type LauncherStage, launcherStage } from '../testing/launcher-stage.js';

let self: LauncherStage;
afterEach(() => {
  self.end();
});
const { pods, nodeClaims, events } = kubeResources;

/** The answer of an instant fleet whose options are all denied: a success with errors. */
const denied: FleetOutcome = {
  fleetId: 'fleet-1',
  instances: [],
  errors: ['us-east-1a', 'us-east-1b'].map((zone) => ({
    awsCode: 'UnauthorizedOperation',
    message: 'You are not authorized to perform this operation',
    instanceType: 'c5a.large',
    zone,
  })),
};

test('an error that EC2 reports for each option reaches condition, Event, log and metric with its code', async () => {
  self = await launcherStage();
  await self.readyPool();
  const ports = self.ports();
  let answers = 2;
  const cloud = Object.assign(Object.create(ports.cloud) as typeof ports.cloud, {
    createFleet: (request: Parameters<typeof ports.cloud.createFleet>[0]) =>
      (answers -= 1) >= 0 ? Promise.resolve(denied) : ports.cloud.createFleet(request),
  });
  self.launcher('one', { ports: { ...ports, cloud } });
  await self.planningPossible();
  await self.kube.create(pods, podObject('a'));
  await self.until('the pod', () => self.planner.cluster.pods.size === 1);
  await self.planner.planFor(['a']);
  const condition = await self.until('a condition', async () =>
    (await self.kube.list(nodeClaims))
      .map((object) => conditionOf(claimFrom(object).conditions, 'Launched'))
      .find((each) => each?.reason === 'Unauthorized'),
  );
  expect(condition?.message).toContain('UnauthorizedOperation: You are not authorized');
  const event = await self.until('an Event', async () =>
    (await self.kube.list(events)).find((each) => each['reason'] === 'Unauthorized'),
  );
  expect(event['message']).toContain('UnauthorizedOperation');
  expect(self.log.lines.filter((line) => line.includes('fleet-error')).join()).toContain(
    'UnauthorizedOperation',
  );
  const labels = { code: 'denied', aws_code: 'UnauthorizedOperation' };
  expect(self.metrics.value('dovetail_create_fleet_failures_total', labels)).toBeGreaterThan(0);
  await self.until('a running pod', () =>
    self
      .list(pods)
      .every((pod) => (pod['status'] as { phase?: string } | undefined)?.phase === 'Running'),
  );
});

/** A fleet that buys nothing and names one error for each of these codes. */
const refusedFor = (codes: readonly string[]): FleetOutcome => ({
  fleetId: 'fleet-1',
  instances: [],
  errors: codes.map((awsCode) => ({
    awsCode,
    message: `EC2 says ${awsCode} at length`,
    instanceType: 'c5a.large',
    zone: 'us-east-1a',
  })),
});

/** Starts a launcher whose next fleet is refused for these reasons, and plans one pod. */
async function refusedOnce(codes: readonly string[]): Promise<void> {
  self = await launcherStage();
  await self.readyPool();
  const ports = self.ports();
  let isRefused = false;
  const cloud = Object.assign(Object.create(ports.cloud) as typeof ports.cloud, {
    createFleet: (request: Parameters<typeof ports.cloud.createFleet>[0]) => {
      if (isRefused) return ports.cloud.createFleet(request);
      isRefused = true;
      return Promise.resolve(refusedFor(codes));
    },
  });
  self.launcher('one', { ports: { ...ports, cloud } });
  await self.planningPossible();
  await self.kube.create(pods, podObject('a'));
  await self.until('the pod', () => self.planner.cluster.pods.size === 1);
  await self.planner.planFor(['a']);
}

const eventNaming = (kind: string, codes: readonly string[]): Promise<unknown> =>
  self.until(`an Event of the ${kind} with ${codes.join(', ')}`, async () =>
    (await self.kube.list(events)).some((event) => {
      const { kind: about } = (event['involvedObject'] ?? {}) as { readonly kind?: string };
      const message = String(event['message']);
      return (
        about === kind && message.length <= 1_024 && codes.every((code) => message.includes(code))
      );
    }),
  );

const capacityCodes = [
  'InsufficientInstanceCapacity',
  'MaxSpotInstanceCountExceeded',
  'VcpuLimitExceeded',
  'InsufficientFreeAddressesInSubnet',
  'MaxFleetCountExceeded',
  'ReservationCapacityExceeded',
  'UnfulfillableCapacity',
];

test('each code of a fleet that was refused for several reasons reaches condition and Event', async () => {
  const codes = [
    ...capacityCodes,
    'UnauthorizedOperation',
    'InvalidParameterValue',
    'SomethingNew',
  ];
  await refusedOnce(codes);
  await self.until(`a condition with ${codes.join(', ')}`, async () =>
    (await self.kube.list(nodeClaims))
      .map((object) => conditionOf(claimFrom(object).conditions, 'Launched')?.message ?? '')
      .some((message) => codes.every((code) => message.includes(code))),
  );
  await eventNaming('NodeClaim', codes);
});

test('each code of a fleet without capacity reaches the Events of the claim and of its pod', async () => {
  await refusedOnce(capacityCodes);
  await eventNaming('NodeClaim', capacityCodes);
  await eventNaming('Pod', capacityCodes);
});
