import type { Channel } from '@dovetail/contracts';
import { annotations, poolKey, type NodeClaim } from '@dovetail/core-api';
import type { CloudError} from '@dovetail/core-ports';
import { type StopSignal } from '@dovetail/core-ports';
import type { LauncherConfig } from '../config.js';
import type { LauncherDeps } from '../deps.js';
import type { Catalog } from '../discovery/catalog.js';
import type { Knowledge } from '../discovery/knowledge.js';
import { withCondition, withRoot, claimSteps, conditionObjects } from '../lifecycle/conditions.js';
import { inParallel } from '../loop/in-parallel.js';
import { Latch } from '../loop/latch.js';
import { TokenBucket } from '../loop/token-bucket.js';
import type { Decisions } from '../tell/decisions.js';
import type { KubeEvents } from '../tell/kube-events.js';
import { classKey, type World } from '../world/world.js';
import type { Writer } from '../world/writer.js';
import { launchFailureReason } from './errors.js';
import { intentIdOf, intentOf, isUnpaired, parseIntent, renderIntent, type LaunchIntent } from './intent.js';
import { Outcomes } from './outcomes.js';
import { buildRequest, type BuiltRequest } from './request.js';
import { Sending } from './sending.js';
import type { Templates } from './templates.js';
import type { UnavailableOfferings } from './unavailable.js';
import { launchUnits, type LaunchUnit } from './units.js';

export type LaunchingDeps = Pick<LauncherDeps, 'cloud' | 'clock' | 'hash' | 'log' | 'metrics' | 'userData'> & {
  readonly world: World;
  readonly writer: Writer;
  readonly catalog: Catalog;
  readonly knowledge: Knowledge;
  readonly unavailable: UnavailableOfferings;
  readonly templates: Templates;
  readonly decisions: Decisions;
  readonly events: KubeEvents;
  readonly channel: Channel;
  readonly generation: () => string;
  /** Claims that must not be launched: they are being taken back. */
  readonly isVoid: (claim: NodeClaim) => boolean;
};

type Waiting = { readonly notBeforeMs: number };

/** Turns claims without instances into intents, fleets and pairs. It keeps nothing that the claims do not say, but for pacing. */
export class Launching {
  readonly #deps: LaunchingDeps;
  readonly #config: LauncherConfig;
  readonly #latch = new Latch();
  readonly #busy = new Set<string>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #settled = new Set<string>();
  readonly #outcomes: Outcomes;
  readonly #sending: Sending;
  #running = 0;

  constructor(deps: LaunchingDeps, config: LauncherConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#outcomes = new Outcomes(deps);
    const bucket = new TokenBucket(deps.clock, { ratePerSecond: config.launch.callsPerSecond, burst: config.launch.callsBurst });
    this.#sending = new Sending({ ...deps, bucket }, config.launch);
  }

  /** There may be something to launch. */
  wake(): void { this.#latch.raise(); }

  /** Whether nothing more will come of the claim's intent: its finalizer may go when it has no instance. */
  isSettled(claim: NodeClaim): boolean {
    const id = intentIdOf(claim);
    return id === undefined || this.#settled.has(id) || !this.#inForce(claim);
  }

  /** Whether somebody works on the claim now: what its status lacks may be about to be written. */
  isBusy(claim: NodeClaim): boolean { return this.#busy.has(claim.uid); }

  /** Instances that carry the intent's tag and have not ended. Rejects with CloudError. */
  lookUp(intentId: string): ReturnType<Sending['lookUp']> { return this.#sending.lookUp(intentId); }

  /** Units in work, for debugging. */
  inWork(): number { return this.#running; }

  async run(stop: StopSignal): Promise<void> {
    const end = this.#deps.world.subscribe((kind) => { if (kind === 'claim' || kind === 'nodeclass') this.wake(); });
    this.wake();
    while (!stop.aborted) {
      await this.#latch.wait(stop);
      // Claims of one round arrive one by one; a moment's patience puts equal ones into one request.
      await this.#deps.clock.sleep(this.#config.launch.gatherMs, stop);
      if (!stop.aborted) this.#pass(stop);
    }
    end();
    while (this.#running > 0) await this.#latch.wait(neverStopped);
  }

  #pass(stop: StopSignal): void {
    const { world, clock, hash } = this.#deps;
    const nowMs = clock.nowMs();
    const units = launchUnits({
      claims: world.claims.values(), claimByName: (name) => world.claims.one('name', name), sha256Hex: (text) => hash.sha256Hex(text),
      isSettled: (id) => this.#settled.has(id), membersMax: this.#config.launch.membersMax,
      isVoid: this.#deps.isVoid,
      isHeldBack: (claim) => this.#busy.has(claim.uid) || (this.#waiting.get(claim.uid)?.notBeforeMs ?? 0) > nowMs,
    });
    for (const unit of units) {
      if (this.#running >= this.#config.launch.callsInParallel) break;
      void this.#work(unit, stop);
    }
  }

  async #work(unit: LaunchUnit, stop: StopSignal): Promise<void> {
    this.#running += 1;
    for (const claim of unit.claims) this.#busy.add(claim.uid);
    try {
      await (unit.kind === 'resolve' ? this.#resolve(unit.carried.intent, stop) : this.#launch(unit, stop));
    } catch (error) {
      this.#deps.log.warn('launch-failed', 'a launch was interrupted and is taken up again', { claims: unit.claims.map((claim) => claim.name), error: String(error) });
      this.#wait(unit.claims, this.#config.launch.attemptMs, stop);
    } finally {
      for (const claim of unit.claims) this.#busy.delete(claim.uid);
      this.#running -= 1;
      this.wake();
    }
  }

  async #launch(unit: LaunchUnit & { readonly kind: 'launch' }, stop: StopSignal): Promise<void> {
    // An intent that some of them still carry was never in force, as far as the claims say. Looking costs little, an instance nobody claims costs more.
    for (const id of unit.superseded) {
      if (await this.#adopt(id, unit.claims)) return;
      this.#settled.add(id);
    }
    const built = this.#build(unit.claims);
    if (built === undefined) { this.#wait(unit.claims, this.#config.launch.attemptMs, stop); return; }
    if (!built.ok) { await this.#unbuildable(unit.claims, built, unit.attempt, stop); return; }
    this.#deps.templates.learn(built.templates);
    const intent = intentOf({ attempt: unit.attempt, createdMs: this.#deps.clock.nowMs(), members: unit.claims.map((claim) => claim.name), request: built.request }, (text) => this.#deps.hash.sha256Hex(text));
    if (!(await this.#write(intent, unit.claims))) return;
    await this.#resolve(intent, stop, { fresh: true });
  }

  /** Sends what is in force, or looks up what came of it, and writes the outcome down. */
  async #resolve(intent: LaunchIntent, stop: StopSignal, options: { readonly fresh: boolean } = { fresh: false }): Promise<void> {
    const carriers = (): readonly NodeClaim[] => intent.members.flatMap((name) => this.#deps.world.claims.one('name', name) ?? []).filter((claim) => intentIdOf(claim) === intent.id);
    if (!options.fresh) this.#relearn(carriers());
    const outcome = await this.#sending.outcomeOf(intent, carriers(), stop, options);
    if (outcome.kind === 'again') { this.#wait(carriers().filter(isUnpaired), outcome.afterMs, stop); return; }
    const left = await this.#outcomes.write(intent, carriers(), outcome);
    this.#settled.add(intent.id);
    if (left.length > 0) await this.#again(left, outcome.kind === 'failed' ? outcome.error : undefined, intent.attempt, stop);
  }

  async #again(left: readonly NodeClaim[], error: CloudError | undefined, attempt: number, stop: StopSignal): Promise<void> {
    if (error !== undefined) await this.#tellFailure(left, { reason: launchFailureReason(error.awsCode), message: `${error.awsCode}: ${error.message}` });
    this.#wait(left, Math.min(this.#config.launch.attemptMaxMs, this.#config.launch.attemptMs * 2 ** (attempt - 1)), stop);
  }

  #build(claims: readonly NodeClaim[]): BuiltRequest | undefined {
    const { world, catalog, knowledge } = this.#deps;
    const [first] = claims;
    const discovered = first === undefined ? undefined : catalog.discovered(classKey(first.classRef));
    if (first === undefined || knowledge.cluster === undefined || knowledge.region === undefined) return undefined;
    const row = world.nodeClasses.one('key', classKey(first.classRef));
    if (row === undefined || row.deletionMs !== undefined) return { ok: false, kind: 'capacity', message: `${classKey(first.classRef)} is gone or being deleted` };
    if (discovered === undefined) return undefined;
    if (!discovered.nodeClass.ready) return { ok: false, kind: 'class', message: `${classKey(first.classRef)} is not ready` };
    const { maxPriceMicrosPerHour: most, kubelet } = world.pools.one('key', poolKey(first.pool)) ?? {};
    return buildRequest(this.#deps, {
      claims, discovered, types: catalog.typesOf(classKey(first.classRef), kubelet), cluster: knowledge.cluster, typesMax: this.#config.launch.typesMax,
      ...(most === undefined ? {} : { maxPriceMicrosPerHour: most }), ...(kubelet === undefined ? {} : { poolKubelet: kubelet }),
    });
  }

  async #unbuildable(claims: readonly NodeClaim[], built: BuiltRequest & { readonly ok: false }, attempt: number, stop: StopSignal): Promise<void> {
    if (built.kind === 'capacity') { await this.#outcomes.end(claims, { awsCode: 'InsufficientCapacity', message: built.message }); return; }
    await this.#tellFailure(claims, { reason: 'NodeClassNotReady', message: built.message });
    this.#wait(claims, Math.min(this.#config.launch.attemptMaxMs, this.#config.launch.attemptMs * 2 ** (attempt - 1)), stop);
  }

  /** True once every claim carries the intent; else the group has changed, and is put together anew. */
  async #write(intent: LaunchIntent, claims: readonly NodeClaim[]): Promise<boolean> {
    const text = renderIntent(intent);
    const written = await inParallel(claims, this.#config.admission.writesInParallel, async (claim) => {
      const held = intentIdOf(claim);
      const now = await this.#deps.writer.changeClaim(claim, (fresh) =>
        (fresh.deletionMs === undefined && isUnpaired(fresh) && intentIdOf(fresh) === held ? { metadata: { annotations: { [annotations.launchIntent]: text } } } : undefined));
      return now !== undefined && intentIdOf(now) === intent.id;
    });
    return written.every((each) => each);
  }

  /** Pairs instances that an abandoned intent brought after all. True when there were some. */
  async #adopt(intentId: string, claims: readonly NodeClaim[]): Promise<boolean> {
    const carriers = claims.filter((claim) => intentIdOf(claim) === intentId);
    const intent = parseIntent(carriers[0]?.annotations[annotations.launchIntent], (text) => this.#deps.hash.sha256Hex(text));
    const instances = await this.#sending.lookUp(intentId);
    if (intent === undefined || instances.length === 0) return false;
    await this.#outcomes.write(intent, carriers, { kind: 'done', instances, shortage: { kind: 'none' }, errors: [] });
    return true;
  }

  /** After a crash the templates of an intent are not known: what its claims would be launched with now has most likely the same names. */
  #relearn(carriers: readonly NodeClaim[]): void {
    const unpaired = carriers.filter(isUnpaired);
    const built = unpaired.length === 0 ? undefined : this.#build(unpaired);
    if (built?.ok === true) this.#deps.templates.learn(built.templates);
  }

  async #tellFailure(claims: readonly NodeClaim[], failure: { readonly reason: string; readonly message: string }): Promise<void> {
    const { writer, clock, log } = this.#deps;
    log.warn('launch-not-possible', failure.message, { claims: claims.map((claim) => claim.name), reason: failure.reason });
    await inParallel(claims, this.#config.admission.writesInParallel, (claim) => writer.changeClaimStatus(claim, (now) => {
      const conditions = withRoot(withCondition(now.conditions, { type: 'Launched', status: 'Unknown', reason: failure.reason, message: failure.message }, clock.nowMs()), claimSteps, clock.nowMs());
      return conditions === now.conditions ? undefined : { status: { conditions: conditionObjects(conditions) } };
    }));
  }

  #inForce(claim: NodeClaim): boolean {
    const intent = parseIntent(claim.annotations[annotations.launchIntent], (text) => this.#deps.hash.sha256Hex(text));
    return intent !== undefined && intent.members.every((name) => { const member = this.#deps.world.claims.one('name', name); return member !== undefined && intentIdOf(member) === intent.id; });
  }

  #wait(claims: readonly NodeClaim[], waitMs: number, stop: StopSignal): void {
    for (const claim of claims) this.#waiting.set(claim.uid, { notBeforeMs: this.#deps.clock.nowMs() + waitMs });
    void this.#deps.clock.sleep(waitMs, stop).then(() => {
      for (const claim of claims) if ((this.#waiting.get(claim.uid)?.notBeforeMs ?? 0) <= this.#deps.clock.nowMs()) this.#waiting.delete(claim.uid);
      this.wake();
    });
  }
}

const neverStopped: StopSignal = { aborted: false, addEventListener: () => undefined, removeEventListener: () => undefined };
