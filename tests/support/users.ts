import { setTimeout as delay } from 'node:timers/promises';

import { kubeResources } from '@dovetail/core-ports';

import { drawsFrom } from './faults.js';
import { createPods, podObject } from './placement.js';
import type { Witness } from './witness.js';
import { deploymentManifest } from './workload.js';
import { eventually, type TestWorld } from './world.js';

/** The deployments, with the range of replicas in which a step draws. */
const deployments = [
  { name: 'api', cpu: '500m', memory: '512Mi', range: 12 },
  { name: 'web', cpu: '1100m', memory: '1Gi', range: 9 },
  { name: 'worker', cpu: '1700m', memory: '2Gi', range: 6 },
] as const;
/** The ranges move up by one in so many steps, so that there is always something to launch. */
const stepsOfGrowth = 4;
const passing = { cpu: '700m', memory: '600Mi' } as const;
const [passingPerStep, stepsOfPassing] = [3, 3] as const;
/** How long a test waits for the users. It ends a test that hangs, on however slow a machine. */
const patienceMs = 600_000;
/** The least time between two steps. It only keeps an idle cluster from being asked without end. */
const pauseMs = 500;
/**
 * The users go on while fewer pods wait. So they need no clock: they are as quick as whoever runs
 * the cluster, and while nobody does they stop by themselves.
 */
export const waitingMost = 30;

/** Users who scale their deployments, and run pods that last for some steps. */
export class Users {
  readonly #at: TestWorld;
  readonly #seen: Witness;
  readonly #draw: () => number;
  #steps = 0;
  #isResting = false;
  #isOver = false;
  #failed: unknown;
  #working: Promise<void> = Promise.resolve();

  /** The same seed makes the same steps. */
  constructor(at: TestWorld, seen: Witness, seed: number) {
    this.#at = at;
    this.#seen = seen;
    this.#draw = drawsFrom(seed);
  }

  /** Makes their deployments, and lets them begin. */
  async start(): Promise<void> {
    for (const each of deployments)
      await this.#at.kube.putManifests(deploymentManifest({ ...each, replicas: 0 }));
    this.#working = this.#work();
    this.#working.catch((error: unknown) => (this.#failed = error));
  }

  /** Waits until they have made so many more steps. */
  async more(wanted: number): Promise<void> {
    const enough = this.#steps + wanted;
    await this.#until(`${wanted} more steps of the users`, () => this.#steps >= enough);
  }

  /** Lets them rest, and waits until every pod runs. */
  async rest(): Promise<void> {
    this.#isResting = true;
    await delay(pauseMs);
    await this.#until('every pod to run', () => this.#seen.waiting() === 0);
  }

  /** Lets them go on. */
  resume(): void {
    this.#isResting = false;
  }

  /** Ends them. Rejects with what failed them. */
  async end(): Promise<void> {
    this.#isOver = true;
    await this.#working;
  }

  async #work(): Promise<void> {
    while (!this.#isOver) {
      if (!this.#isResting && this.#seen.waiting() < waitingMost) await this.#step();
      await delay(pauseMs);
    }
  }

  async #step(): Promise<void> {
    const chosen = deployments[Math.floor(this.#draw() * deployments.length)] ?? deployments[0];
    const replicas = Math.floor(this.#draw() * chosen.range + this.#steps / stepsOfGrowth);
    await this.#at.kubectl('scale', `deployment/${chosen.name}`, `--replicas=${replicas}`);
    for (let each = 0; each < passingPerStep; each += 1) {
      const nameIn = (step: number): string => `passing-${step}-${each}`;
      await createPods(this.#at, [podObject(nameIn(this.#steps), passing)]);
      if (this.#steps < stepsOfPassing) continue;
      const name = nameIn(this.#steps - stepsOfPassing);
      const ref = { resource: kubeResources.pods, namespace: 'default', name };
      await this.#at.kube.delete(ref, { gracePeriodSeconds: 0 });
    }
    this.#steps += 1;
  }

  #until(what: string, condition: () => boolean): Promise<unknown> {
    const look = (): boolean => {
      if (this.#failed !== undefined) throw new Error('the users failed', { cause: this.#failed });
      return condition();
    };
    return eventually(what, look, patienceMs);
  }
}
