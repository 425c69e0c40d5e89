import { annotations, tags } from '@dovetail/core-api';
import { CloudError, kubeResources, type Span } from '@dovetail/core-ports';
import { conditionsIn, isTrue } from '@dovetail/service-kit';
import { podObject } from '@dovetail/sim-stage';
import { afterEach, describe, expect, test } from 'vitest';

import { type LauncherStage, launcherStage } from './testing/launcher-stage.js';

let self: LauncherStage;
afterEach(() => {
  self.end();
});
const { nodeClaims, pods } = kubeResources;

/** A stage with a pool and a pod that waits, and the spans that its launchers record. */
async function waiting() {
  self = await launcherStage();
  const spans: Span[] = [];
  const traces = { keeps: () => true, record: (span: Span) => void spans.push(span) };
  await self.readyPool();
  return { spans, traces };
}

async function planned(): Promise<void> {
  await self.planningPossible();
  await self.kube.create(pods, podObject('a'));
  await self.until('the pod in view', () => self.planner.cluster.pods.size === 1);
  await self.planner.planFor(['a']);
}

const tagged = (): Promise<boolean> =>
  self.until(
    'a ready claim whose instance is named after it',
    () =>
      self
        .list(nodeClaims)
        .some(
          (claim) =>
            isTrue(conditionsIn(claim), 'Ready') &&
            claim.metadata.annotations?.['karpenter.k8s.aws/tagged'] === 'true',
        ),
    60_000,
  );

describe('a launcher that traces', () => {
  const steps = ['admit', 'create-fleet', 'launch', 'register', 'initialize'];

  test('records each step once, under the admission, in the time of its clock', async () => {
    const { spans, traces } = await waiting();
    const begunMs = self.clock.nowMs();
    self.launcher('one', { traces });
    await planned();
    await tagged();
    expect(spans.map(({ name }) => name).toSorted()).toEqual(steps.toSorted());
    const admit = spans.find(({ name }) => name === 'admit');
    for (const span of spans) {
      expect(span.traceId).toBe(admit?.traceId);
      if (span !== admit) expect(span.parentId).toBe(admit?.spanId);
      expect(span.startMs).toBeGreaterThanOrEqual(begunMs);
      expect(span.endMs).toBeLessThanOrEqual(self.clock.nowMs());
      expect(span.endMs).toBeGreaterThanOrEqual(span.startMs);
    }
    const [claim] = self.list(nodeClaims);
    expect(claim?.metadata.annotations?.[annotations.traceparent]).toBe(
      `00-${admit?.traceId ?? ''}-${admit?.spanId ?? ''}-01`,
    );
  });

  test('and whose successor goes on from the claim makes no second span for an effect', async () => {
    const { spans, traces } = await waiting();
    const { life } = self.launcher('one', { traces });
    await planned();
    await self.until('an instance', () => spans.some(({ name }) => name === 'create-fleet'));
    life.die();
    self.launcher('two', { traces });
    await tagged();
    const ids = new Map<string, Set<string>>();
    for (const { name, spanId } of spans) ids.set(name, (ids.get(name) ?? new Set()).add(spanId));
    expect([...ids].map(([name, of]) => [name, of.size]).toSorted()).toEqual(
      steps.map((name) => [name, 1]).toSorted(),
    );
  });

  test('names the instance without its trace, if AWS denies that tag', async () => {
    const { traces } = await waiting();
    const written: Readonly<Record<string, string>>[] = [];
    const ports = self.ports();
    const cloud = new Proxy(ports.cloud, {
      get: (target, name) =>
        name === 'tagInstances'
          ? (_ids: readonly string[], given: Readonly<Record<string, string>>) => {
              written.push(given);
              return tags.traceId in given
                ? Promise.reject(new CloudError('denied', 'UnauthorizedOperation', 'no'))
                : Promise.resolve();
            }
          : (Reflect.get(target, name) as () => unknown).bind(target),
    });
    self.launcher('one', { traces, ports: { ...ports, cloud } });
    await planned();
    await tagged();
    // A claim that changes meanwhile is named once more.
    expect(written.slice(0, 2).map((given) => tags.traceId in given)).toEqual([true, false]);
  });
});

test('a launcher that traces nothing marks no claim', async () => {
  await waiting();
  self.launcher('one');
  await planned();
  await tagged();
  const [claim] = self.list(nodeClaims);
  expect(claim?.metadata.annotations).not.toHaveProperty([annotations.traceparent]);
});
