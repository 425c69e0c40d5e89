import { at as checkedAt } from '@dovetail/core-invariant';
import { drawsFrom } from '@dovetail/test-support/faults';

import type { ServiceName } from '../services.js';
import type { StoryStage } from '../story-stage.js';

/** Numbers from a seed, and what the moves of one story must remember. */
export class Hand {
  readonly stage: StoryStage;
  /** The replica of each service that faults strike. */
  readonly replicas = new Map<ServiceName, string>();
  /** The apps that were made, and the CPU that their pods ask for. */
  readonly sizes = new Map<string, string>();
  /** Lines that end what lasts now. */
  readonly open: string[] = [];
  /** The apps that have a disruption budget. */
  readonly budgets = new Set<string>();
  readonly #next: () => number;
  #started = 1;

  constructor(seed: number, stage: StoryStage) {
    this.stage = stage;
    this.#next = drawsFrom(seed);
  }

  /** A number from 0 to below this one. */
  below(limit: number): number {
    return this.#next() * limit;
  }

  /** A whole number from the least to the most. */
  between(least: number, most: number): number {
    return least + Math.floor(this.below(most - least + 1));
  }

  one<T>(values: readonly T[]): T {
    return checkedAt(values, Math.floor(this.below(values.length)));
  }

  /** Whether it happens, with this probability. */
  happens(probability: number): boolean {
    return this.#next() < probability;
  }

  /** Takes one of the things that last, and its end. */
  recovers(): readonly string[] {
    if (this.open.length === 0) return [];
    return this.open.splice(Math.floor(this.below(this.open.length)), 1);
  }

  /** The replica of a service, and the name of another that takes its place. */
  replaced(service: ServiceName): { readonly old: string; readonly fresh: string } {
    const old = this.replicas.get(service) ?? service;
    this.#started += 1;
    const fresh = `${service}-${String(this.#started)}`;
    this.replicas.set(service, fresh);
    return { old, fresh };
  }

  /** The story's name of one of the cluster's things; undefined if there is none. */
  named(family: string, names: readonly string[]): string | undefined {
    return names.length === 0
      ? undefined
      : this.stage.narrator.names.add(family, this.one([...names]));
  }
}

/** Something that may come next, and how often it does beside the others. */
export type Move = { readonly weight: number; readonly lines: (hand: Hand) => readonly string[] };
