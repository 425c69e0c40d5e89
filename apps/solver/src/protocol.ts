import type {
  MalformedMessage,
  PendingBatch,
  PlanRequest,
  SearchRequest,
} from '@dovetail/contracts';
import type { FollowEvent } from '@dovetail/core-ports';

import type { PlanRules } from './settings.js';

/** Messages from the main thread to its worker. Events carry bytes, never a cloned mirror. */
export type Question =
  | { readonly kind: 'state' | 'catalog'; readonly event: FollowEvent }
  | {
      readonly kind: 'batch';
      readonly id: number;
      readonly batch: PendingBatch;
      readonly budgetMs: number;
    }
  | { readonly kind: 'request'; readonly id: number; readonly request: PlanRequest }
  | {
      readonly kind: 'search';
      readonly id: number;
      readonly request: SearchRequest;
      readonly budgetMs: number;
    }
  | {
      readonly kind: 'gap';
      readonly id: number;
      readonly budgetMs: number;
      readonly boundMs: number;
    }
  /**
   * The worker answers once the mirror has changed since its last answer, after `waitMs` at the
   * latest.
   */
  | { readonly kind: 'changed'; readonly id: number; readonly waitMs: number }
  | { readonly kind: 'bound'; readonly id: number; readonly planId: string; readonly msMax: number }
  | { readonly kind: 'record'; readonly id: number; readonly planId: string }
  | { readonly kind: 'forget-records' | 'debug'; readonly id: number };

/**
 * The worker's answer to the question of that id: a value, or the message of the error. `ready`
 * says whether the engine can plan.
 */
export type Answer =
  | { readonly id: number; readonly ok: true; readonly value: unknown; readonly ready: boolean }
  | { readonly id: number; readonly ok: false; readonly message: string; readonly ready: boolean };

/** Messages from the worker that answer no question. */
export type Notice = { readonly malformed: MalformedMessage };

/** `offset` is a shared Int32: the seconds by which the test clock is ahead. */
export type WorkerData = {
  readonly cluster: string;
  readonly solver: string;
  readonly offset: SharedArrayBuffer;
  readonly rules: PlanRules;
  /** Whether the input of each plan is kept until it is recorded. */
  readonly records: boolean;
};

/** The machine's clock plus the shared offset. */
export function sharedOffsetClock(offset: SharedArrayBuffer): () => number {
  const seconds = new Int32Array(offset);
  return () => Date.now() + Atomics.load(seconds, 0) * 1_000;
}
