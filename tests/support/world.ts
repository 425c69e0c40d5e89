import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectKubernetes, type ManifestApi } from '@dovetail/adapter-kubernetes/manifests';
import type { KubeApi, KubeObject, KubeResource, Log } from '@dovetail/core-ports';
import {
  type ControlPlaneKind,
  defaultLabOptions,
  isUnavailable,
  type Lab,
  type LabOptions,
  obtainControlPlane,
  obtainKubectl,
  run,
  startLab,
  waitFor,
  wantsRealParts,
} from '@dovetail/testbed';
import { expect, test } from 'vitest';

import { type DecisionRecorder, recordDecisions } from './decisions.js';

const root = join(import.meta.dirname, '..', '..');

/**
 * A lab for one test file, with functions to work on it. Another team has subnets and a security
 * group in its VPC, which code that ignores selectors would get.
 */
export type TestWorld = {
  readonly lab: Lab;
  readonly kube: KubeApi & ManifestApi;
  readonly decisions: DecisionRecorder;
  /** Runs the real kubectl against the lab. Rejects with its output when it fails. */
  kubectl(...args: readonly string[]): Promise<string>;
  /**
   * Applies every manifest of a folder under tests/scenarios, or the named files of it, unchanged
   * but for ${CLUSTER_NAME}.
   */
  applyScenario(name: string, files?: readonly string[]): Promise<void>;
  /** Sends an order or a question to the cloud twin (`/_twin/…`). */
  cloud<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T>;
  list(
    resource: KubeResource,
    selection?: { namespace?: string; labelSelector?: string },
  ): Promise<readonly KubeObject[]>;
  close(): Promise<void>;
};

/** Errors only. All else is in the services' own log files. */
const quietLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: (name, message) => process.stderr.write(`${name}: ${message}\n`),
};

/**
 * Deployments of the tests are planned whole on a machine of any speed: a batch leaves as soon as
 * its owners have made all their pods, and waits for slow ones longer than a user would.
 */
const patient = { BATCH_OWNER_IDLE_DURATION: '30s', BATCH_OWNER_MAX_DURATION: '60s' } as const;

/** The Lease of a real cluster: a machine that stands still for seconds changes no leader. */
const leaseMs = 15_000;

/** For tests that kill a leader and wait for the next one. */
export const quickLeaseMs = 3_000;

export async function openWorld(
  options: { readonly world: ControlPlaneKind } & Partial<LabOptions>,
): Promise<TestWorld> {
  const dir = await mkdtemp(join(tmpdir(), 'dovetail-test-'));
  const lab = await startLab({
    ...defaultLabOptions,
    dir,
    distDir: join(root, 'dist'),
    progress: () => undefined,
    prepare: applyDefinitions,
    leaseMs,
    ...options,
    env: { ...options.env, 'pod-watcher': { ...patient, ...options.env?.['pod-watcher'] } },
  });
  const kube = connectKubernetes({ kubeconfigPath: lab.kubeconfig, log: quietLog });
  const decisions = await recordDecisions(lab.natsUrl, lab.options.clusterName);
  const kubectl = await kubectlFor(lab);
  const cloud = cloudOf(lab);
  await cloud('POST', 'neighbours');
  return {
    lab,
    kube,
    decisions,
    kubectl,
    cloud,
    applyScenario: (name, files) =>
      applyScenario(kubectl, lab.options.clusterName, dir, name, files),
    list: (resource, selection) => kube.list(resource, selection),
    async close() {
      await decisions.close();
      await lab.stop();
      if (process.env['KEEP_LAB'] !== '1') await rm(dir, { recursive: true, force: true });
      else process.stderr.write(`the lab's files are kept in ${dir}\n`);
    },
  };
}

const cloudOf =
  (lab: Lab): TestWorld['cloud'] =>
  async <T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T> => {
    const response = await fetch(`${lab.cloudUrl}/_twin/${path}`, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} /_twin/${path}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  };

async function applyDefinitions(kubeconfigPath: string): Promise<void> {
  const kube = connectKubernetes({ kubeconfigPath, log: quietLog });
  const folder = join(root, 'deploy', 'crds');
  for (const file of (await readdir(folder)).filter((name) => name.endsWith('.yaml')).toSorted())
    await kube.putManifests(await readFile(join(folder, file), 'utf8'));
}

async function kubectlFor(lab: Lab): Promise<TestWorld['kubectl']> {
  const found = await obtainKubectl();
  if (isUnavailable(found))
    return () => Promise.reject(new Error(`no kubectl: ${found.unavailable}`));
  return async (...args) => {
    const output = await run(found.path, ['--kubeconfig', lab.kubeconfig, ...args], {
      deadlineMs: 200_000,
      remedy: 'read its output',
    });
    return output.stdout;
  };
}

async function applyScenario(
  kubectl: TestWorld['kubectl'],
  clusterName: string,
  dir: string,
  name: string,
  files?: readonly string[],
): Promise<void> {
  const folder = join(root, 'tests', 'scenarios', name);
  const chosen =
    files ?? (await readdir(folder)).filter((file) => file.endsWith('.yaml')).toSorted();
  for (const file of chosen) {
    const manifest = (await readFile(join(folder, file), 'utf8')).replaceAll(
      '${CLUSTER_NAME}',
      clusterName,
    );
    const path = join(dir, `${name}-${file}`);
    await writeFile(path, manifest);
    await kubectl('apply', '-f', path);
  }
}

/**
 * A test file that drives kubectl is skipped whole without kubectl, and one line gives the reason.
 */
async function leaveOutWithoutKubectl(): Promise<void> {
  const { testPath } = expect.getState();
  if (
    testPath === undefined ||
    !/\.(kubectl|applyScenario)\(/.test(await readFile(testPath, 'utf8'))
  )
    return;
  const found = await obtainKubectl();
  if (!isUnavailable(found)) return;
  process.stdout.write(
    `LEFT OUT: the scenarios and other tests that drive kubectl: ${found.unavailable.split('\n', 1)[0]}\n`,
  );
  // Jest then skips every other test of the file, and with them the hooks that open its worlds.
  test.only('kubectl is left out', () => expect(isUnavailable(found)).toBe(true));
}

/**
 * The world to test on, as a table for `describe.each`: the twins in `make test`, the real control
 * plane in `make test-real`. Rejects if that one cannot be had.
 */
export async function worlds(): Promise<readonly ControlPlaneKind[]> {
  await leaveOutWithoutKubectl();
  if (!wantsRealParts()) return ['twin'];
  const found = await obtainControlPlane();
  if (isUnavailable(found)) throw new Error(`no real control plane: ${found.unavailable}`);
  return ['real'];
}

/** Looks until the condition returns a value. A failure names the awaited thing. */
export const eventually = <T>(
  what: string,
  condition: () => T | undefined | false | Promise<T | undefined | false>,
  deadlineMs = 60_000,
): Promise<T> => waitFor(condition, { what, deadlineMs, everyMs: 50 });
