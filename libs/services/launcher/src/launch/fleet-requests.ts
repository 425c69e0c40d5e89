import { type NodeClaim, tags } from '@dovetail/core-api';
import { type Cluster, isUnpaired } from '@dovetail/core-cluster';
import type { FleetOutcome } from '@dovetail/core-ec2-model';
import {
  type Clock,
  CloudError,
  type Fleets,
  type Instances,
  type Log,
  type Metrics,
  type StopSignal,
} from '@dovetail/core-ports';
import type { TokenBucket } from '@dovetail/service-kit';

import type { LaunchConfig } from '../config.js';
import { remedyOf, type Shortage, shortageOf } from './errors.js';
import { type FleetCall, traceFleet, type Tracing } from './fleet-trace.js';
import { carriedIds, fleetRequestOf, type LaunchIntent } from './intent.js';
import { IntentNotes } from './intent-notes.js';
import type { LaunchedInstance } from './pairing.js';
import type { Templates } from './templates.js';

/** The ports and parts that `FleetRequests` works with. */
export type FleetRequestsDeps = {
  readonly cloud: Fleets & Instances;
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly channel: Tracing;
  readonly templates: Templates;
  readonly bucket: TokenBucket;
};

/** The outcome of an intent, as far as EC2 says. */
export type IntentOutcome =
  /** EC2 has answered, with instances or without. */
  | {
      readonly kind: 'done';
      readonly instances: readonly LaunchedInstance[];
      readonly shortage: Shortage;
      readonly errors: FleetOutcome['errors'];
      readonly fleetId?: string;
    }
  /** Nothing was bought, and this request will buy nothing. */
  | { readonly kind: 'failed'; readonly error: CloudError }
  /** Not known yet: ask again later. */
  | { readonly kind: 'again'; readonly afterMs: number };

/** The outcome of an intent as its span tells it. */
const fleetFacts = (
  outcome: Exclude<IntentOutcome, { kind: 'again' }>,
): Pick<FleetCall, 'instances' | 'fleetId' | 'failure'> =>
  outcome.kind === 'failed'
    ? { instances: 0, failure: `${outcome.error.awsCode}: ${outcome.error.message}` }
    : {
        instances: outcome.instances.length,
        ...(outcome.fleetId === undefined ? {} : { fleetId: outcome.fleetId }),
        ...(outcome.shortage.kind === 'none'
          ? {}
          : { failure: `${outcome.shortage.awsCode}: ${outcome.shortage.message}` }),
      };

/** The states of instances that have not ended. */
const aliveStates = ['pending', 'running', 'stopping', 'stopped'];

/**
 * Finds out the outcome of intents. It sends the request, with the same bytes and the same
 * ClientToken each time. Where sending is not safe, it looks instances up by the intent's tag.
 */
export class FleetRequests {
  readonly #deps: FleetRequestsDeps;
  readonly #config: LaunchConfig;
  /** Ids of intents whose templates were made again. */
  readonly #remade: IntentNotes;

  constructor(deps: FleetRequestsDeps, config: LaunchConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#remade = new IntentNotes(() => carriedIds(deps.cluster));
  }

  /**
   * The outcome of an intent in force. `isFresh`: nothing was sent for it yet. Rejects with an
   * error that is no CloudError, or with CloudError from a lookup.
   */
  async outcomeOf(
    intent: LaunchIntent,
    carriers: readonly NodeClaim[],
    options: { readonly isFresh: boolean },
    stop: StopSignal,
  ): Promise<IntentOutcome> {
    const ageMs = this.#deps.clock.nowMs() - intent.createdMs;
    const unwanted = carriers.filter(isUnpaired).every((claim) => claim.deletionMs !== undefined);
    // EC2 keeps tokens for a while only, and nothing is bought for claims that are all being
    // deleted.
    if (ageMs > this.#config.resendMaxMs || (unwanted && !options.isFresh))
      return this.#lookedUp(intent, ageMs);
    if (unwanted) return { kind: 'done', instances: [], shortage: { kind: 'none' }, errors: [] };
    const startMs = this.#deps.clock.nowMs();
    const outcome = await this.#send(intent, { ...options, ageMs }, stop);
    if (outcome.kind !== 'again')
      traceFleet(this.#deps.channel, {
        intent,
        carriers,
        startMs,
        endMs: this.#deps.clock.nowMs(),
        ...fleetFacts(outcome),
      });
    return outcome;
  }

  /** Instances that carry the intent's tag and have not ended. Rejects with CloudError. */
  async lookUp(intentId: string): Promise<readonly LaunchedInstance[]> {
    const found = await this.#deps.cloud.instancesByTag([
      { name: `tag:${tags.launchIntent}`, values: [intentId] },
      { name: 'instance-state-name', values: aliveStates },
    ]);
    return found.filter((instance) => aliveStates.includes(instance.state));
  }

  async #lookedUp(intent: LaunchIntent, ageMs: number): Promise<IntentOutcome> {
    const instances = await this.lookUp(intent.id);
    // A fresh instance may be missing from EC2's answers, so absence counts only after that time.
    if (instances.length < intent.members.length && ageMs < this.#config.consistencyMs)
      return { kind: 'again', afterMs: Math.min(2_000, this.#config.consistencyMs - ageMs) };
    return { kind: 'done', instances, shortage: { kind: 'none' }, errors: [] };
  }

  async #send(
    intent: LaunchIntent,
    { ageMs, isFresh }: { readonly ageMs: number; readonly isFresh: boolean },
    stop: StopSignal,
  ): Promise<IntentOutcome> {
    const { cloud, templates, bucket, metrics, clock } = this.#deps;
    const request = fleetRequestOf(intent);
    const names = request.configs.map((config) => config.launchTemplateName);
    const startedMs = clock.nowMs();
    try {
      await templates.ensure(names, { anew: false });
      if (!(await bucket.take(stop))) return { kind: 'again', afterMs: 0 };
      const outcome = await cloud.createFleet(request);
      bucket.succeeded();
      metrics.observe('dovetail_create_fleet_seconds', (clock.nowMs() - startedMs) / 1000);
      const shortage = shortageOf(outcome, intent.members.length);
      // EC2 does not promise that a repeated token is answered with the instances of the first.
      if (!isFresh && shortage.kind !== 'none' && outcome.errors.length === 0)
        return await this.#lookedUp(intent, ageMs);
      if (shortage.kind === 'template-missing' && outcome.instances.length === 0)
        return await this.#remakeTemplates(
          intent,
          new CloudError('launch-template-missing', shortage.awsCode, shortage.message),
        );
      return {
        kind: 'done',
        instances: outcome.instances,
        shortage,
        errors: outcome.errors,
        fleetId: outcome.fleetId,
      };
    } catch (error) {
      if (!(error instanceof CloudError)) throw error;
      return this.#failed(intent, error, ageMs);
    }
  }

  async #failed(intent: LaunchIntent, error: CloudError, ageMs: number): Promise<IntentOutcome> {
    const { metrics, bucket, log } = this.#deps;
    metrics.count('dovetail_create_fleet_failures_total', {
      code: error.code,
      aws_code: error.awsCode,
    });
    switch (remedyOf(error.code)) {
      case 'send-again':
        if (error.code === 'throttled') bucket.throttled();
        log.warn('fleet-delayed', 'EC2 is busy or away; the same fleet request is sent again', {
          intent: intent.id,
          awsCode: error.awsCode,
        });
        return { kind: 'again', afterMs: this.#config.attemptMs };
      case 'look-up':
        log.warn(
          'fleet-token-mismatch',
          'EC2 has another request under this token; its instances are looked up by tag',
          { intent: intent.id },
        );
        return this.#lookedUp(intent, ageMs);
      case 'make-template':
        return this.#remakeTemplates(intent, error);
      case 'avoid-offerings':
        return {
          kind: 'done',
          instances: [],
          shortage: { kind: 'capacity', awsCode: error.awsCode, message: error.message },
          errors: [{ awsCode: error.awsCode, message: error.message }],
        };
      case 'new-attempt':
        return { kind: 'failed', error };
    }
  }

  /**
   * Makes the templates again, once for each intent: a template that is missing again stays
   * missing.
   */
  async #remakeTemplates(intent: LaunchIntent, error: CloudError): Promise<IntentOutcome> {
    if (this.#remade.has(intent.id)) return { kind: 'failed', error };
    this.#remade.add(intent.id);
    const made = await this.#deps.templates.ensure(
      intent.request.configs.map((config) => config.launchTemplateName),
      { anew: true },
    );
    return made ? { kind: 'again', afterMs: this.#config.attemptMs } : { kind: 'failed', error };
  }
}
