import { annotations, disruptionReasons, type NodeClaim } from '@dovetail/core-api';
import {
  commandOfRetirement,
  type ExplainOptions,
  isVoluntary,
  parseRetirement,
} from '@dovetail/core-disruption';
import { compareText } from '@dovetail/core-kube-model';
import { type DebugState, messageOf, Stopper, type StopSignal } from '@dovetail/core-ports';
import { type Again, WorkQueue } from '@dovetail/service-kit';

import { Consolidations } from './consolidate/consolidations.js';
import type { ReaperContext } from './context.js';
import { DecisionLoop } from './decide/decision-loop.js';
import { PlaceQuestions } from './decide/place-questions.js';
import { Collector } from './end/collector.js';
import { followNodeDeletion, followPoolDeletion } from './end/follow-deletion.js';
import { Terminator } from './end/terminator.js';
import { ImpairedInstances } from './interrupt/impaired-instances.js';
import { Interruptions } from './interrupt/interruptions.js';
import { GapWatch } from './observe/gap-watch.js';
import { observe } from './observe/observation.js';
import { tellProtections } from './observe/protections.js';
import { ClusterIdentity } from './outside/identity.js';
import { Commands } from './retire/commands.js';
import { LeftoverTaints } from './retire/leftover-taints.js';
import { Retirer } from './retire/retirer.js';
import { endIfInVain } from './retire/unused-replacements.js';

/** Delay after a look that failed; short, since most failures are a conflict or a brief outage. */
const retryMs = 200;
/** The longest delay. It trades the load on a server that is down for the delay once it is back. */
const retryMaxMs = 10_000;
/** Blocked nodes that /debug/state lists; a large cluster has thousands. */
const blockedMax = 50;

/** One epoch: every loop of the leader, and what they remember of each other. */
export class ReaperEpoch {
  readonly #context: ReaperContext;
  readonly #identity: ClusterIdentity;
  readonly #terminator: Terminator;
  readonly #retirer: Retirer;
  readonly #questions: PlaceQuestions;
  readonly #loop: DecisionLoop;
  readonly #commands: Commands;
  readonly #consolidations: Consolidations;
  readonly #collector: Collector;
  readonly #gap: GapWatch;
  readonly #leftovers: LeftoverTaints;
  readonly #queue: WorkQueue;
  /** Nodes for which a solver is to be asked, by haste: no drain waits for an answer. */
  readonly #asks: WorkQueue;
  readonly #urgentAsks: WorkQueue;

  constructor(context: ReaperContext) {
    const { deps, config } = context;
    this.#context = context;
    this.#identity = new ClusterIdentity(deps);
    this.#terminator = new Terminator(context, this.#identity, (name) => this.#asks.add(name));
    this.#retirer = new Retirer(context);
    this.#questions = new PlaceQuestions(context);
    this.#loop = new DecisionLoop(context, this.#retirer, this.#questions);
    this.#commands = new Commands(context, this.#retirer);
    this.#consolidations = new Consolidations(context, this.#retirer, this.#commands);
    this.#collector = new Collector(context, this.#identity);
    this.#gap = new GapWatch(context);
    this.#leftovers = new LeftoverTaints(context);
    this.#queue = this.#queueOf('claims', config.termination.concurrency);
    const { askNodesMax } = config.disruption;
    this.#asks = this.#queueOf('asks', askNodesMax);
    this.#urgentAsks = this.#queueOf('urgent-asks', askNodesMax);
  }

  #queueOf(name: string, concurrency: number): WorkQueue {
    const { deps } = this.#context;
    return new WorkQueue({
      clock: deps.clock,
      concurrency,
      retryMs,
      retryMaxMs,
      watch: { vitals: deps.vitals, name },
      onError: (claim, error, failures) => {
        deps.metrics.count('dovetail_looks_failed_total');
        deps.log.warn(
          'look-failed',
          `looking at ${claim} failed: ${messageOf(error)}; trying again`,
          { claim, failures },
        );
      },
    });
  }

  /** Works until the epoch ends. */
  async run(epochStop: StopSignal): Promise<void> {
    const stop = new Stopper(epochStop);
    const unsubscribe = this.#followWorld();
    const endProtections = tellProtections(this.#context);
    observe(this.#context, stop);
    try {
      await Promise.all([
        this.#queue.run((claimName) => this.#look(claimName, stop), stop),
        this.#asks.run((claimName) => this.#ask(claimName), stop),
        this.#urgentAsks.run((claimName) => this.#ask(claimName), stop),
        this.#loop.run(stop),
        this.#questions.run(stop, () => this.#loop.wake()),
        this.#commands.run(stop),
        this.#consolidations.run(stop),
        this.#collector.run(stop),
        this.#gap.run(stop),
        this.#interruptions(stop),
        new ImpairedInstances(this.#context, this.#retirer).run(stop),
      ]);
    } finally {
      unsubscribe();
      endProtections();
      stop.abort();
    }
  }

  async #interruptions(stop: StopSignal): Promise<void> {
    const { queue } = this.#context.deps;
    if (queue === undefined) return;
    await new Interruptions(this.#context, this.#retirer, this.#identity).run(queue, stop);
  }

  /** Looks at every claim now, at each one that changes, and at all when a list is complete. */
  #followWorld(): () => void {
    const { cluster } = this.#context;
    const addAll = (): void => {
      for (const claim of cluster.claims.values()) this.#queue.add(claim.name);
    };
    let unsynced = cluster.unsynced().length;
    addAll();
    const endRefusals = cluster.refusedPlans.subscribe((nodeUids) => {
      for (const uid of nodeUids) {
        const node = cluster.nodes.get(uid);
        const claim = node === undefined ? undefined : cluster.claimOfNode(node);
        if (claim !== undefined) this.#queue.add(claim.name);
      }
    });
    const endChanges = cluster.subscribeClaims((claimNames) => {
      for (const name of claimNames) this.#queue.add(name);
      // A look that could not decide before a list was complete can decide now.
      if (cluster.unsynced().length < unsynced) addAll();
      unsynced = cluster.unsynced().length;
      this.#loop.wake();
    });
    return () => {
      endRefusals();
      endChanges();
    };
  }

  /** Ends a claim, carries its retirement on, or makes it follow its node or pool. */
  async #look(name: string, stop: StopSignal): Promise<Again> {
    const { cluster } = this.#context;
    const claim = cluster.claims.one('name', name);
    if (claim === undefined || stop.aborted) return undefined;
    if (claim.deletionMs !== undefined) return this.#terminator.look(name, stop);
    const node = cluster.nodeOfClaim(claim);
    if (node?.deletionMs !== undefined) {
      await followNodeDeletion(this.#context, claim, node);
      return undefined;
    }
    if (await followPoolDeletion(this.#context, claim)) return undefined;
    if (!cluster.areSynced('claim', 'node', 'pod', 'pool')) return undefined;
    const again = await endIfInVain(this.#context, claim);
    if (node === undefined) return again;
    const text = node.annotations[annotations.retirement];
    if (text === undefined) return (await this.#leftovers.look(claim, node)) ?? again;
    // Nodes that go together are looked at together.
    const retirement = parseRetirement(text);
    if (commandOfRetirement(retirement) !== undefined) return undefined;
    // A node that may stay is judged by the budgets of its pods: it waits until these are known.
    if (retirement !== undefined && isVoluntary(retirement) && !cluster.isSynced('pdb'))
      return undefined;
    return this.#retirer.look(name, (isUrgent) =>
      (isUrgent ? this.#urgentAsks : this.#asks).add(name),
    );
  }

  async #ask(name: string): Promise<Again> {
    const claim = this.#context.cluster.claims.one('name', name);
    const isEnding = claim?.deletionMs !== undefined;
    const again = await (isEnding ? this.#terminator : this.#retirer).ask(name);
    this.#queue.add(name);
    return again;
  }

  /** The answers about a node that was looked at or given back lately. */
  knownOf(claim: NodeClaim): Pick<ExplainOptions, 'searchAnswer' | 'givenUp' | 'placeAnswer'> {
    const givenUp = this.#retirer.vain.noteOn(claim);
    return {
      searchAnswer: ({ uid }) => this.#consolidations.lastNoteOn(uid),
      placeAnswer: (...of) => this.#questions.answerOn(...of),
      ...(givenUp === undefined ? {} : { givenUp }),
    };
  }

  debugState(): DebugState {
    const { claims, nodes } = this.#context.cluster;
    const ending = [...claims.values()].filter((claim) => claim.deletionMs !== undefined);
    return {
      looks: this.#queue.size(),
      asks: this.#asks.size() + this.#urgentAsks.size(),
      retiring: [...nodes.values()].flatMap((node) => {
        const retirement = parseRetirement(node.annotations[annotations.retirement]);
        return retirement === undefined ? [] : [{ node: node.name, ...retirement }];
      }),
      ending: ending.map(({ name }) => name).sort(compareText),
      lastPass: this.#lastPass(),
      lastCollection: this.#lastCollection(),
      lastConsolidation: this.#lastConsolidation(),
      lastGap: this.#gap.last(),
    };
  }

  #lastPass(): DebugState | undefined {
    const pass = this.#loop.last();
    if (pass === undefined) return undefined;
    const { begin, ask, blocked, account, nextDueMs } = pass;
    return {
      begin: begin.map(({ view, cause, note }) => ({ claim: view.claim.name, cause, note })),
      ask: ask.map(({ view: { claim } }) => claim.name),
      nextDueMs,
      allowed: Object.fromEntries(
        disruptionReasons.map((reason) => [reason, account.allowed(reason)]),
      ),
      blocked: blocked
        .slice(0, blockedMax)
        .map(({ view, cause, notes }) => ({ claim: view.claim.name, cause, notes })),
    };
  }

  #lastConsolidation(): DebugState | undefined {
    const last = this.#consolidations.last();
    if (last === undefined) return undefined;
    const { candidates, stays, nextDueMs, allowed } = last;
    return {
      candidates: candidates.map(({ view }) => view.claim.name),
      stays: stays
        .slice(0, blockedMax)
        .map(({ view, notes }) => ({ claim: view.claim.name, notes })),
      nextDueMs,
      allowed,
    };
  }

  #lastCollection(): DebugState | undefined {
    const last = this.#collector.last();
    if (last === undefined) return undefined;
    const { terminate, deleteClaims, brakes } = last.collection;
    return {
      atMs: last.atMs,
      instances: terminate.map(({ id }) => id),
      claims: deleteClaims.map(({ name }) => name),
      brakes,
    };
  }
}
