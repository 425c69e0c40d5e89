import { annotations, tags } from '@dovetail/core-api';
import { type Cloud, CloudError, kubeResources, type Span } from '@dovetail/core-ports';
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

describe('a launcher that traces', () => {
  const steps = ['admit', 'create-fleet', 'launch', 'register', 'initialize'];

  test('records each step once, under the admission, in the time of its clock', async () => {
    const { spans, traces } = await waiting();
    const begunMs = self.clock.nowMs();
    self.launcher('one', { traces });
    await planned();
    await self.launched();
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
    await self.launched();
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
    const tagInstances: Cloud['tagInstances'] = (_ids, given) => {
      written.push(given);
      return tags.traceId in given
        ? Promise.reject(new CloudError('denied', 'UnauthorizedOperation', 'no'))
        : Promise.resolve();
    };
    const cloud = new Proxy(ports.cloud, {
      get: (target, name) =>
        name === 'tagInstances'
          ? tagInstances
          : (Reflect.get(target, name) as () => unknown).bind(target),
    });
    self.launcher('one', { traces, ports: { ...ports, cloud } });
    await planned();
    await self.launched();
    // It may be asked twice, before its watch shows that it is done.
    expect(written.slice(0, 2).map((given) => tags.traceId in given)).toEqual([true, false]);
    expect(written[1]).toMatchObject({ [tags.nodeClaim]: expect.any(String) as string });
  });
});

test('a launcher that traces nothing marks no claim', async () => {
  await waiting();
  self.launcher('one');
  await planned();
  await self.launched();
  const [claim] = self.list(nodeClaims);
  expect(claim?.metadata.annotations).not.toHaveProperty([annotations.traceparent]);
});
