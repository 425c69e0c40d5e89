import { join } from 'node:path';

import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';

import { boundStepsByDefault } from '../../commands/simulate.js';
import type { NewNodeResult, SimulationResult } from '../../simulate/result.js';
import { resultOf, simulate } from '../../simulate/testing/simulating.js';
import { convert, fileOf, serve } from '../testing/converting.js';

const root = join(import.meta.dirname, '../../../../..');

const simulated = async (path: string, catalog: string): Promise<SimulationResult> =>
  resultOf(await simulate([path], { catalog, boundSteps: boundStepsByDefault }));

/** Every folder of the repository with objects of an older version. */
const fixtures = [
  ['examples/mixed', 'us-east-1'],
  ['tests/scenarios/spot-three-zones', 'eu-west-1'],
  ['tests/scenarios/team1-zonal-spread', 'us-west-2'],
  ['tests/scenarios/expiry-upgrade', 'us-west-2'],
  ['tests/scenarios/layered-constraints', 'us-west-2'],
  ['tests/scenarios/spot-type-list', 'us-west-2'],
] as const;

const read = (text: string): readonly unknown[] =>
  parseAllDocuments(text).map((document) => document.toJS() as unknown);

describe.each(fixtures)('the objects of %s', (folder, catalog) => {
  const path = join(root, folder);
  test('are accepted by the schemas in deploy/crds once they are converted', async () => {
    const { code, out } = await convert(path);
    expect(code).toBe(0);
    expect(await serve(read(out))).toBeGreaterThan(1);
  });
  test('stay as they are once they are of v1', async () => {
    const first = await convert(path);
    expect(await convert(fileOf(first.out))).toEqual({ code: 0, out: first.out, err: '' });
  });
  test('give the same plan before and after, or a cheaper one where no types are named', async () => {
    const before = await simulated(path, catalog);
    const after = await simulated(fileOf((await convert(path)).out), catalog);
    expect(waiting(after)).toEqual(waiting(before));
    expect(after.existingNodes).toEqual(before.existingNodes);
    if (before.cost.sized) expect(after.cost.hourly).toBeLessThanOrEqual(before.cost.hourly);
    else expect(after.newNodes.map(shapeOf)).toEqual(before.newNodes.map(shapeOf));
  });
});

/** The pods without a node, and why, apart from the name of the pool's kind. */
const waiting = ({ unschedulable }: SimulationResult) =>
  unschedulable.map(({ pod, reasons }) => [pod, reasons.map(({ code }) => code)]);

/** A planned node, apart from the kind and the labels of its pool. */
const shapeOf = ({ instanceTypes, zones, capacityTypes, price, pods }: NewNodeResult) => ({
  instanceTypes,
  zones,
  capacityTypes,
  price,
  pods,
});
