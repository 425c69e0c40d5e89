import { annotations, type NodeClaim } from '@dovetail/core-api';
import { isUnpaired } from '@dovetail/core-cluster';
import { present } from '@dovetail/core-invariant';
import type { Clock, Hash, Log, Metrics, StopSignal, Vitals } from '@dovetail/core-ports';
import { messageOf, neverStopping } from '@dovetail/core-ports';
import { aboutClaim, inParallel, TokenBucket, Wake } from '@dovetail/service-kit';

import type { ClusterWriter } from '../cluster/cluster-writer.js';
import type { LauncherConfig } from '../config.js';
import { type FailedCall, launchFailureReason } from './errors.js';
import { FleetRequests, type FleetRequestsDeps, type IntentOutcome } from './fleet-requests.js';
import {
  carriedIds,
  carriedIntent,
  intentIdOf,
  intentOf,
  type LaunchIntent,
  parseIntent,
  renderIntent,
} from './intent.js';
import { IntentNotes } from './intent-notes.js';
import { attemptDelayMs, LaunchPacing } from './launch-pacing.js';
import { Outcomes, type OutcomesDeps } from './outcomes.js';
import type { LaunchedInstance } from './pairing.js';
import type { BuiltRequest } from './request.js';
import { RequestSource, type RequestSourceDeps } from './request-source.js';
import { type LaunchUnit, launchUnits } from './units.js';
import type { UnpairedClaims } from './unpaired-claims.js';

/** The sources of claims and requests, the pace of EC2, and the writers of outcomes. */
export type LaunchDeps = OutcomesDeps &
  RequestSourceDeps &
  Omit<FleetRequestsDeps, 'bucket'> & {
    readonly clock: Clock;
    readonly hash: Hash;
    readonly log: Log;
    readonly metrics: Metrics;
    readonly vitals: Vitals;
    readonly writer: ClusterWriter;
    readonly unpaired: UnpairedClaims;
    /** Whether a claim must not be launched, because it is being taken back. */
    readonly isVoid: (claim: NodeClaim) => boolean;
  };

/** A unit that lasts longer is hung: far over the minutes that all retries of its calls take. */
const unitMsMax = 900_000;
/** How soon EC2 is asked again for the instances of an abandoned intent. */
const adoptAgainMs = 2_000;

/**
 * A failure that claims survive: it stands in their condition Launched, and another attempt
 * follows.
 */
type Setback = { readonly reason: string; readonly message: string };

/**
 * Turns claims without instances into intents, fleets and pairs. An intent is written on each of
 * its claims before its request is sent, so that a successor finds out what was bought.
 *
 * Invariant: nothing is remembered here that the claims do not say, except for pacing and for the
 * intents whose outcome has been written down.
 */
export class Launch {
  readonly #deps: LaunchDeps;
  readonly #config: LauncherConfig;
  readonly #wake: Wake;
  readonly #pacing: LaunchPacing;
  readonly #requests: RequestSource;
  readonly #fleets: FleetRequests;
  readonly #outcomes: Outcomes;
  /**
   * Ids of intents whose outcome is written down: what they left without an instance may start
   * anew.
   */
  readonly #settled: IntentNotes;
  #running = 0;

  constructor(deps: LaunchDeps, config: LauncherConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#settled = new IntentNotes(() => carriedIds(deps.cluster));
    this.#wake = new Wake(deps.clock);
    this.#pacing = new LaunchPacing(deps.clock, () => this.wake());
    this.#requests = new RequestSource(deps, config.launch);
    this.#outcomes = new Outcomes(deps);
    const bucket = new TokenBucket(deps.clock, {
      ratePerSecond: config.launch.callsPerSecond,
      burst: config.launch.callsBurst,
    });
    this.#fleets = new FleetRequests({ ...deps, bucket }, config.launch);
  }

  /** There may be something to launch. */
  wake(): void {
    this.#wake.raise();
  }

  /**
   * Whether nothing more comes of the claim's intent, so that its finalizer may go if it has no
   * instance.
   */
  isSettled(claim: NodeClaim): boolean {
    const id = intentIdOf(claim);
    if (id === undefined || this.#settled.has(id)) return true;
    const intent = this.#deps.unpaired.headOf(claim);
    if (intent === undefined) return true;
    return !carriedIntent(intent, this.#claimByName).inForce && this.#unseenMs(intent) <= 0;
  }

  /** Whether the claim is being worked on now: its status may be about to be written. */
  isBusy(claim: NodeClaim): boolean {
    return this.#pacing.isBusy(claim);
  }

  /** Instances that carry the intent's tag and have not ended. Rejects with CloudError. */
  lookUp(intentId: string): Promise<readonly LaunchedInstance[]> {
    return this.#fleets.lookUp(intentId);
  }

  /** The number of units in work, for /debug/state. */
  inWork(): number {
    return this.#running;
  }

  /** Launches until `stop`; resolves when the units in work have ended. */
  async run(stop: StopSignal): Promise<void> {
    const end = this.#deps.cluster.subscribe(({ kind }) => {
      if (kind === 'claim' || kind === 'nodeclass') this.wake();
    });
    this.wake();
    while (!stop.aborted) {
      await this.#wake.wait(stop);
      // The claims of a round arrive one by one; after a moment, equal ones share one request.
      await this.#deps.clock.sleep(this.#config.launch.gatherMs, stop);
      if (!stop.aborted) this.#startUnits(stop);
    }
    end();
    while (this.#running > 0) await this.#wake.wait(neverStopping);
  }

  #startUnits(stop: StopSignal): void {
    const { unpaired, isVoid, vitals } = this.#deps;
    const units = launchUnits({
      unpaired,
      claimByName: this.#claimByName,
      isSettled: (id) => this.#settled.has(id),
      membersMax: this.#config.launch.membersMax,
      isVoid,
      isHeldBack: (claim) => this.#pacing.isHeldBack(claim),
    });
    for (const unit of units) {
      if (this.#running >= this.#config.launch.callsInParallel) break;
      this.#running += 1;
      void this.#pacing
        .during(unit.claims, () => vitals.turn('launches', unitMsMax, () => this.#work(unit, stop)))
        .finally(() => {
          this.#running -= 1;
          this.wake();
        });
    }
  }

  async #work(unit: LaunchUnit, stop: StopSignal): Promise<void> {
    try {
      await (unit.kind === 'resolve'
        ? this.#resolve(this.#carriedBy(unit), { isFresh: false }, stop)
        : this.#launch(unit, stop));
    } catch (error) {
      this.#deps.log.warn('launch-failed', `a launch failed: ${messageOf(error)}; trying again`, {
        claims: unit.claims.map((claim) => claim.name),
      });
      this.#pacing.postpone(unit.claims, this.#config.launch.attemptMs, stop);
    }
  }

  /** A new attempt for equal claims: build the request, write the intent, send it. */
  async #launch(unit: LaunchUnit & { readonly kind: 'launch' }, stop: StopSignal): Promise<void> {
    const { claims, attempt, superseded } = unit;
    // As far as the claims say, these intents were never sent. Looking costs less than an instance
    // without a claim.
    for (const id of superseded) {
      const { isAdopted, againMs } = await this.#adopt(id, claims);
      if (isAdopted) return;
      if (againMs > 0) return this.#pacing.postpone(claims, againMs, stop);
      this.#settled.add(id);
    }
    const built = this.#requests.build(claims);
    if (built === undefined)
      return this.#pacing.postpone(claims, this.#config.launch.attemptMs, stop);
    if (!built.ok) return this.#notBuilt(unit, built, stop);
    const members = claims.map((claim) => claim.name);
    const createdMs = this.#deps.clock.nowMs();
    const intent = intentOf(
      { attempt, createdMs, members, request: built.request },
      this.#sha256Hex,
    );
    if (await this.#writeIntent(intent, claims))
      return this.#resolve(intent, { isFresh: true }, stop);
    // It was not sent, and nobody sends it who does not see it on all of its claims.
    this.#settled.add(intent.id);
  }

  async #notBuilt(
    { claims, attempt }: LaunchUnit & { readonly kind: 'launch' },
    { kind, message }: BuiltRequest & { readonly ok: false },
    stop: StopSignal,
  ): Promise<void> {
    if (kind === 'capacity')
      return this.#outcomes.end(claims, { awsCode: 'InsufficientCapacity', message });
    await this.#reportSetback(claims, { reason: 'NodeClassNotReady', message });
    this.#pacing.postpone(claims, attemptDelayMs(this.#config.launch, attempt), stop);
  }

  /** Sends an intent in force, or looks up its instances, and writes the outcome down. */
  async #resolve(
    intent: LaunchIntent,
    options: { readonly isFresh: boolean },
    stop: StopSignal,
  ): Promise<void> {
    const carriers = (): readonly NodeClaim[] => carriedIntent(intent, this.#claimByName).carriers;
    if (!options.isFresh) this.#requests.relearnTemplates(carriers());
    const outcome = await this.#fleets.outcomeOf(intent, carriers(), options, stop);
    if (outcome.kind === 'again')
      return this.#pacing.postpone(carriers().filter(isUnpaired), outcome.afterMs, stop);
    const left = await this.#outcomes.write(intent, carriers(), outcome);
    this.#settled.add(intent.id);
    if (left.length > 0) await this.#tryAnew(left, intent.attempt, outcome, stop);
  }

  async #tryAnew(
    left: readonly NodeClaim[],
    attempt: number,
    outcome: IntentOutcome,
    stop: StopSignal,
  ): Promise<void> {
    const failure = failureOf(outcome);
    if (failure !== undefined) {
      const { awsCode, message } = failure;
      const reason = launchFailureReason(awsCode);
      await this.#reportSetback(left, { reason, message: `${awsCode}: ${message}` });
    }
    this.#pacing.postpone(left, attemptDelayMs(this.#config.launch, attempt), stop);
  }

  /**
   * True once every claim carries the intent; otherwise the group has changed and is formed anew.
   */
  async #writeIntent(intent: LaunchIntent, claims: readonly NodeClaim[]): Promise<boolean> {
    const text = renderIntent(intent);
    const { writesInParallel } = this.#config.admission;
    const written = await inParallel(claims, writesInParallel, async (claim) => {
      const held = intentIdOf(claim);
      const now = await this.#deps.writer.changeClaim(claim, (fresh) =>
        fresh.deletionMs === undefined && isUnpaired(fresh) && intentIdOf(fresh) === held
          ? { metadata: { annotations: { [annotations.launchIntent]: text } } }
          : undefined,
      );
      return now !== undefined && intentIdOf(now) === intent.id;
    });
    return written.every((isWritten) => isWritten);
  }

  /**
   * Pairs instances that an abandoned intent brought after all. If there are none yet, another
   * leader may just have sent it: EC2 is then asked again until it must have shown them.
   */
  async #adopt(
    intentId: string,
    claims: readonly NodeClaim[],
  ): Promise<{ readonly isAdopted: boolean; readonly againMs: number }> {
    const carriers = claims.filter((claim) => intentIdOf(claim) === intentId);
    const intent = this.#intentOn(carriers[0]);
    const instances = await this.lookUp(intentId);
    if (intent === undefined) return { isAdopted: false, againMs: 0 };
    if (instances.length === 0)
      return { isAdopted: false, againMs: Math.min(adoptAgainMs, this.#unseenMs(intent)) };
    const shortage = { kind: 'none' } as const;
    await this.#outcomes.write(intent, carriers, { kind: 'done', instances, shortage, errors: [] });
    return { isAdopted: true, againMs: 0 };
  }

  /** How long an instance of the intent may still be missing from EC2's answers. */
  #unseenMs({ createdMs }: Pick<LaunchIntent, 'createdMs'>): number {
    const { clock } = this.#deps;
    return Math.max(0, createdMs + this.#config.launch.consistencyMs - clock.nowMs());
  }

  async #reportSetback(
    claims: readonly NodeClaim[],
    { reason: launchReason, message }: Setback,
  ): Promise<void> {
    this.#deps.log.warn('launch-not-possible', message, {
      claims: claims.map((claim) => claim.name),
      reason: launchReason,
    });
    await inParallel(claims, this.#config.admission.writesInParallel, async (claim) => {
      this.#deps.events.record({
        about: aboutClaim(claim),
        type: 'Warning',
        reason: launchReason,
        message: `NodeClaim ${claim.name} event: ${message}`,
      });
      await this.#deps.writer.setClaimCondition(claim, {
        type: 'Launched',
        status: 'Unknown',
        reason: launchReason,
        message,
      });
    });
  }

  /** The whole intent, with the request that a unit has no need of before its turn. */
  #carriedBy({ claims }: LaunchUnit & { readonly kind: 'resolve' }): LaunchIntent {
    return present(this.#intentOn(claims[0]), 'a unit to resolve has claims that carry its intent');
  }

  #intentOn(claim: NodeClaim | undefined): LaunchIntent | undefined {
    return parseIntent(claim?.annotations[annotations.launchIntent], this.#sha256Hex);
  }

  readonly #claimByName = (name: string): NodeClaim | undefined =>
    this.#deps.cluster.claims.one('name', name);

  readonly #sha256Hex = (text: string): string => this.#deps.hash.sha256Hex(text);
}

/** The error that claims outlive: of the call, or of overrides in an answer without enough. */
function failureOf(outcome: IntentOutcome): FailedCall | undefined {
  if (outcome.kind === 'failed') return outcome.error;
  if (outcome.kind === 'again' || outcome.shortage.kind === 'none') return undefined;
  return outcome.shortage;
}
