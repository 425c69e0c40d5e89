import type { Mutant } from './mutant.js';

const src = 'libs/services/reaper/src';

/** Mistakes in the shell that retires nodes. */
export const reaperMutants: readonly Mutant[] = [
  {
    place: `${src}/consolidate/consolidations.ts`,
    from: `judged === 'unanswered' ||
      judged.command.nodesIn.length > command.nodesIn.length ||`,
    to: `judged === 'unanswered' ||`,
    means: 'a removal becomes a purchase without a wait of its own',
    tests: `${src}/races`,
  },
  {
    place: `${src}/consolidate/consolidations.ts`,
    from: `judged?.kind !== 'command' ||
      judged.command.nodesIn.length > command.nodesIn.length ||`,
    to: `judged?.kind !== 'command' ||`,
    means: 'a removal of several nodes becomes a purchase without a wait of its own',
    tests: `${src}/races`,
  },
  {
    place: `${src}/consolidate/consolidations.ts`,
    from: 'const late = pods.find(({ uid }) => !moving.has(uid));',
    to: 'const late = pods.find(({ uid }) => !moving.has(uid) && moving.size < 0);',
    means: 'a pod that came before the taint has no place in the plan of one node',
    tests: `${src}/races`,
  },
  {
    place: `${src}/consolidate/shared-commands.ts`,
    from: 'const late = pods.find(({ uid }) => !moving.has(uid));',
    to: 'const late = pods.find(({ uid }) => !moving.has(uid) && moving.size < 0);',
    means: 'a pod that came before the taint has no place in the plan of several nodes',
    tests: `${src}/races`,
  },
  {
    place: `${src}/consolidate/shared-commands.ts`,
    from: 'if (record.name !== this.#beginning) await this.#advance(record);',
    to: 'await this.#advance(record);',
    means: 'a command is taken back while its nodes are being tainted',
    tests: `${src}/races`,
  },
  {
    place: `${src}/consolidate/consolidations.ts`,
    from: 'sameAmong([judged.candidate], this.#find([judged.candidate])) === undefined',
    to: 'false',
    means: 'a node that got another pod during the last answer goes all the same',
    tests: `${src}/consolidation`,
  },
  {
    place: `${src}/consolidate/consolidations.ts`,
    from: 'if (node === undefined || retirement?.planId !== plan.id) return;',
    to: 'if (node === undefined) return;',
    means: 'a plan is published for a node that another cause has taken meanwhile',
    tests: `${src}/races`,
  },
  {
    place: `${src}/retire/unused-replacements.ts`,
    from: 'pods.some(isReschedulable) || promised',
    to: 'promised',
    means: 'a node with running pods is deleted when a command is given back',
    tests: `${src}/races`,
  },
  {
    place: `${src}/retire/unused-replacements.ts`,
    from: 'if (await isGoingLive(context, node)) return',
    to: 'if (node.deletionMs === 0 && (await isGoingLive(context, node))) return',
    means: 'a node that was bought is ended because a watch lags',
    tests: `${src}/retire/`,
  },
  {
    place: `${src}/outside/command-records.ts`,
    from: `['Ending', 'TakenBack'] satisfies`,
    to: `['Ending'] satisfies`,
    means: 'a command that was taken back ends half of its nodes',
    tests: `${src}/outside`,
  },
  {
    place: `${src}/retire/pending-retirements.ts`,
    from: 'return withPending(views, this.#held);',
    to: 'return views;',
    means: 'two loops begin more retirements at once than a budget allows',
    tests: `${src}/retire/pending-retirements`,
  },
  {
    place: `${src}/retire/pending-retirements.ts`,
    from: 'if (this.#held.get(claim.uid)?.untilMs === Infinity) this.release(claim);',
    to: 'void claim;',
    means: 'a node whose taint could not be written counts against its budget for ever',
    tests: `${src}/retire/pending-retirements`,
  },
  {
    place: `${src}/retire/retirer.ts`,
    from: `if (retirement === undefined || (isKeptAway && !isTaintedDisrupted(node))) {`,
    to: 'if (retirement === undefined) {',
    means: 'a node goes although somebody has taken its taint off',
    tests: `${src}/races`,
  },
  {
    place: `${src}/end/terminator.ts`,
    from: `if (!(await this.#owners.mayEnd(claim, id, stop))) return { afterMs: contestedPauseMs };
    // The pods`,
    to: '// The pods',
    means: 'a copy of a claim ends the instance of another node',
    tests: `${src}/ending-claims`,
  },
  {
    place: `${src}/end/terminator.ts`,
    from: 'if (waitingSteps.has(step.kind)) return this.#do(step, waiting, stop);',
    to: 'return this.#do(step, waiting, stop);',
    means: 'an instance ends on what a watch says that lags behind a new pod',
    tests: `${src}/ending`,
  },
  {
    place: `${src}/end/terminator.ts`,
    from: "if (facts.node !== undefined && step.kind !== 'release') await this.#mark(facts.node);",
    to: '',
    means: 'pods are put onto a node while it is drained',
    tests: `${src}/ending`,
  },
  {
    place: `${src}/end/terminator.ts`,
    from: 'if (node !== undefined && kept.length > 0) {',
    to: 'if (node !== undefined && kept.length > 99) {',
    means: 'a claim is gone while its Node is kept, and budgets forget it',
    tests: `${src}/lingering`,
  },
  {
    place: `${src}/end/collector.ts`,
    from: 'if (!claim.ok) addHeld(alsoHeld, object);',
    to: '',
    means: 'the instance of a claim that cannot be read is ended',
    tests: `${src}/collection`,
  },
  {
    place: `${src}/end/collector.ts`,
    from: 'if ((await readNode(deps.kube, this.#context.cluster, claim)) !== undefined) return;',
    to: '',
    means: 'a node ends because the watch of nodes lags',
    tests: `${src}/collection`,
  },
  {
    place: `${src}/interrupt/interruptions.ts`,
    from: "if ((await this.#outcomeOf(message, stop)) === 'later') return;",
    to: 'await this.#outcomeOf(message, stop);',
    means: 'the notice of an instance whose claim is not there yet is deleted',
    tests: `${src}/notices`,
  },
  {
    place: `${src}/interrupt/interruptions.ts`,
    from: "return outcomes.includes('later') ? 'later' : 'done';",
    to: "return outcomes.every((one) => one === 'later') ? 'later' : 'done';",
    means: 'a notice of two instances is deleted when one of them is done',
    tests: `${src}/notices`,
  },
];
