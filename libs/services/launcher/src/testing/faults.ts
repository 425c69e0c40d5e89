import { kubeResources } from '@dovetail/core-ports';
import { podObject } from '@dovetail/sim-stage';
import { onTestFinished } from 'vitest';

import { claimFrom } from '../cluster/readings.js';
import type { LauncherConfig } from '../config.js';
import { type LauncherStage, launcherStage, type LauncherStageOptions } from './launcher-stage.js';

export let self: LauncherStage;

/** Opens the stage that `self` is from now on, until the end of the test. */
export async function open(...options: Parameters<typeof launcherStage>): Promise<void> {
  const opened = await launcherStage(...options);
  onTestFinished(() => opened.end());
  self = opened;
}

export const { pods, nodes, nodeClaims, nodePools, ec2NodeClasses } = kubeResources;

export const minute = 60_000;

export const running = async (count: number): Promise<boolean> =>
  (await self.kube.list(pods)).filter(
    (pod) => (pod['status'] as { phase?: string }).phase === 'Running',
  ).length === count;

export const claims = async () => (await self.kube.list(nodeClaims)).map(claimFrom);

export const alive = () =>
  self.twin.instances
    .all()
    .filter((instance) => instance.state === 'pending' || instance.state === 'running');

export const reasonsOf = async (kind: string): Promise<readonly string[]> =>
  (await self.kube.list(kubeResources.events))
    .filter((event) => (event['involvedObject'] as { kind?: string }).kind === kind)
    .map((event) => `${String(event['reason'])}: ${String(event['message'])}`);

export async function ready(
  options: LauncherStageOptions = {},
  config: Partial<LauncherConfig> = {},
): Promise<void> {
  await open(options);
  await self.readyPool();
  self.launcher('one', { config });
  await self.planningPossible();
}

export async function pending(...names: readonly string[]): Promise<void> {
  for (const name of names) await self.kube.create(pods, podObject(name));
  await self.until("the pods in the solver's view", () =>
    names.every((name) => [...self.planner.cluster.pods.values()].some((pod) => pod.name === name)),
  );
}
