import { classKey } from '@dovetail/core-cluster';
import { type Cloud, kubeResources } from '@dovetail/core-ports';
import { afterEach, expect, test } from 'vitest';

import { type LauncherStage, launcherStage } from '../testing/launcher-stage.js';

let self: LauncherStage;
afterEach(() => {
  self.end();
});

/** The questions whose answers are lists, or maps by type. */
type Question = Extract<
  keyof Cloud,
  'subnets' | 'securityGroups' | 'images' | 'instanceTypes' | 'instanceTypeZones'
>;

/** How many parts of an answer are left: none, or all but the first. */
const cuts = { empty: () => 0, 'without its first part': (all: number) => all - 1 };

const cutTo = (answer: unknown, left: (all: number) => number): unknown => {
  if (answer instanceof Map) return new Map([...answer].slice(answer.size - left(answer.size)));
  const list = answer as readonly unknown[];
  return list.slice(list.length - left(list.length));
};

/** The status of the class, but for times, and the types and offerings that solvers plan with. */
async function known(): Promise<unknown> {
  const [nodeClass] = await self.kube.list(kubeResources.ec2NodeClasses);
  const text = JSON.stringify(nodeClass?.['status']);
  const [pool] = self.planner.cluster.pools.values();
  const types = self.planner.catalog.typesOf(pool === undefined ? '' : classKey(pool.classRef));
  const offerings = [...types.values()].flatMap((type) => type.offerings).length;
  return [text.replaceAll(/"lastTransitionTime":"[^"]*"/g, ''), types.size, offerings];
}

const seconds = 1_000;
/** How often each is looked at until its answer was cut: types are asked for twice a day. */
const questions: readonly (readonly [Question, stepMs: number])[] = [
  ['subnets', 5 * seconds],
  ['securityGroups', 5 * seconds],
  ['images', 5 * seconds],
  ['instanceTypes', 1_800 * seconds],
  ['instanceTypeZones', 1_800 * seconds],
];

test.each(
  questions.flatMap(([question, stepMs]) =>
    Object.entries(cuts).map(([name, left]) => [question, name, left, stepMs] as const),
  ),
)('one answer about %s that is %s takes nothing away', async (question, _name, left, stepMs) => {
  self = await launcherStage();
  await self.readyPool();
  const ports = self.ports();
  const ask = ports.cloud[question] as (...args: readonly unknown[]) => Promise<unknown>;
  let toCut = 0;
  let cut = 0;
  const cutOnce = async (...args: readonly unknown[]): Promise<unknown> => {
    const answer = await ask(...args);
    if (toCut === 0) return answer;
    toCut -= 1;
    cut += 1;
    return cutTo(answer, left);
  };
  self.launcher('one', { ports: { ...ports, cloud: { ...ports.cloud, [question]: cutOnce } } });
  await self.planningPossible();
  const before = await known();
  toCut = 1;
  for (let looks = 0; looks < 200 && cut === 0; looks += 1) await self.advance(stepMs);
  expect([cut, await known()]).toEqual([1, before]);
  await self.advance(stepMs);
  expect(await known()).toEqual(before);
});
