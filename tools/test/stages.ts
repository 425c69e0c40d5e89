// The stages of the three ways to run the tests.
import { execFileSync } from 'node:child_process';

import { type Environment, obtained, runStage, type StageResult } from './stage.js';

type Stage = () => Promise<StageResult>;

const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--passWithNoTests', '--config'];
const projects = [...vitest, 'vitest.config.mjs'];
const system = [...vitest, 'tests/vitest.config.mjs'];

/**
 * Tests of services as processes, or of NATS itself. They cannot run without nats-server: all
 * services share a process then, which traces nothing and has no metrics of its own.
 */
const natsOnly = [
  'tests/e2e/{bad-input,console.test,dashboards,faults,lab.test,placement-left,subscribers,traces}*',
  'tests/conformance/bus/{nats,plain-client,programs}*',
  'tests/conformance/kube/**',
];

/** The life of a node. Its parts have files of their own, which play on the twins. */
const lifeOfNode = 'tests/e2e/smoke.test.ts';
/** The smoke: the life of a node, and the chart at work under its accounts. */
const smoke = [lifeOfNode, 'tests/e2e/helm-run.test.ts'];

/**
 * Files that read what services write, as they do it without a nats-server. The rest of them is in
 * `NATS_SERVER=none make test`.
 */
const inOneProcess = ['tests/e2e/metrics.test.ts', 'tests/e2e/replay.test.ts'];

/** All test files that use one of the large parts, or the world that `make test-real` chooses. */
export const filesOnRealParts = (): readonly string[] =>
  execFileSync(
    'git',
    [
      'grep',
      '--untracked',
      '-lE',
      String.raw`worlds\(\)|forTests\(|wantsRealParts\(| realParts\(|startReal|motoAccount`,
      '--',
      '*.test.ts',
    ],
    { encoding: 'utf8' },
  )
    .split('\n')
    .filter(Boolean);

const partsOfReal = [
  'control-plane',
  'kubectl',
  'helm',
  'moto',
  'karpenter',
  'nats',
  'nats-command',
  'python-subscriber',
  'linters',
];

/** A part that cannot be had is a failure of the run: its tests would say nothing. */
function obtaining(parts: readonly string[]): Stage {
  return async () => {
    const started = performance.now();
    const failures: string[] = [];
    for (const part of parts) {
      const { had, text } = await obtained(part);
      if (!had) failures.push(`FAILED: obtaining ${part}: ${text.replaceAll(/\s+/g, ' ')}`);
    }
    const counts = { passed: 0, failed: failures.length, skipped: 0, leftOut: [], again: [] };
    return {
      name: `obtaining ${parts.join(', ')}`,
      tookMs: performance.now() - started,
      failures,
      ...counts,
    };
  };
}

/** The programs, the packages and the image's files, which the tests start. */
const building: Stage = () =>
  runStage(
    'building',
    ['node_modules/.bin/nx', 'run-many', '-t', 'gen', 'build', 'package', 'files'],
    {},
  );

const unitsOnTwins = (patterns: readonly string[], env: Environment): Promise<StageResult> =>
  runStage('units, house, stories', [...projects, ...patterns], { ...env, DOVETAIL_REAL: '' });

/** Without a nats-server the tests that look at it are left out, and one line says so. */
async function systemOnTwins(patterns: readonly string[], env: Environment): Promise<StageResult> {
  const { had, text } = await obtained('nats');
  const omitted = [lifeOfNode, ...(had ? [] : natsOnly)].map((pattern) => `--exclude=${pattern}`);
  const result = await runStage('the whole system on twins', [...system, ...patterns, ...omitted], {
    ...env,
    DOVETAIL_REAL: '',
  });
  if (had) return result;
  const reason = (text.split('\n', 1)[0] ?? '').replace(/^nats-server\s+missing\s+/, '');
  const line =
    'LEFT OUT: faults, bad input, subscribers, console, dashboards, traces, the lab as it is started ' +
    'and pods left to the scheduler, which look at ' +
    `services as processes or at NATS; other tests ran with all services in one process: no nats-server (${reason})`;
  return { ...result, leftOut: [...result.leftOut, line] };
}

/** Of the files on real parts, those of the projects or those of the whole system. */
function onRealParts(whole: boolean, patterns: readonly string[], env: Environment): Stage {
  const files = filesOnRealParts().filter(
    (file) =>
      file.startsWith('tests/') === whole &&
      (patterns.length === 0 || patterns.some((pattern) => file.includes(pattern))),
  );
  const name = whole ? 'the whole system on the real control plane' : 'units on real parts';
  return () =>
    runStage(name, [...(whole ? system : projects), ...files], { ...env, DOVETAIL_REAL: '1' });
}

/**
 * Failed files of the smoke run once more: the real control plane has its own pace. The last lines
 * name them.
 */
async function smokeOnReal(env: Environment): Promise<StageResult> {
  const play = (files: readonly string[]): Promise<StageResult> =>
    runStage('smoke on the real control plane', [...system, ...files], {
      ...env,
      DOVETAIL_REAL: '1',
      DOVETAIL_SMOKE: '1',
    });
  const first = await play(smoke);
  const failed = smoke.filter((file) => first.failures.some((line) => line.includes(file)));
  if (failed.length === 0) return first;
  const second = await play(failed);
  const tookMs = first.tookMs + second.tookMs;
  return second.failed > 0
    ? { ...first, tookMs, failed: second.failed, failures: second.failures }
    : {
        ...first,
        tookMs,
        passed: first.passed + first.failed,
        failed: 0,
        failures: [],
        again: failed,
      };
}

const withoutNats = (env: Environment): Promise<StageResult> =>
  runStage('without a nats-server', [...system, ...inOneProcess], {
    ...env,
    DOVETAIL_REAL: '',
    NATS_SERVER: 'none',
  });

/**
 * The stages of a way, one after the other; those of one row run side by side. `twins` is all that
 * decides the same way every time, `real` the tests on the real control plane and other large
 * parts, `smoke` two files of them, and two without a nats-server. Undefined for another word.
 */
export function stagesOf(
  way: string,
  patterns: readonly string[],
  env: Environment,
): readonly (readonly Stage[])[] | undefined {
  switch (way) {
    case 'twins':
      // Units keep processors busy while the system waits for time to pass.
      return [[building], [() => unitsOnTwins(patterns, env), () => systemOnTwins(patterns, env)]];
    case 'real':
      return [
        [building],
        [obtaining(partsOfReal)],
        [onRealParts(false, patterns, env)],
        [onRealParts(true, patterns, env)],
      ];
    case 'smoke':
      return [
        [obtaining(['control-plane', 'kubectl', 'helm', 'nats'])],
        [() => smokeOnReal(env)],
        [() => withoutNats(env)],
      ];
    default:
      return undefined;
  }
}
