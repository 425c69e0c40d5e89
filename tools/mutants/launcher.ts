import type { Mutant } from './mutant.js';

const src = 'libs/services/launcher/src';

/** Mistakes in the shell that admits plans and launches nodes. */
export const launcherMutants: readonly Mutant[] = [
  {
    place: `${src}/admission/rounds.ts`,
    from: 'if (clock.nowMs() - fencedMs >= fenceAgainMs) await epoch.guardedWrite(fence);',
    to: '',
    means: 'a round that was judged for long is carried out beside its successor',
    tests: `${src}/admission/rounds`,
  },
  {
    place: `${src}/admission/rounds.ts`,
    from: `const create = (): Promise<unknown> => {
        this.#leads();`,
    to: 'const create = (): Promise<unknown> => {',
    means: 'a claim is made by a launcher that was deposed while it waited',
    tests: `${src}/admission/rounds`,
  },
  {
    place: `${src}/admission/rounds.ts`,
    from: 'this.#inherited?.planIds.includes(plan.id) === true ||',
    to: '',
    means: 'the open round of a predecessor is judged a second time',
    tests: `${src}/admission/rounds`,
  },
  {
    place: `${src}/admission/promise-writer.ts`,
    from: `return isRetiring(written, this.#cluster.claimOfNode(written))
        ? this.#takeBack(placement, written, undefined)
        : undefined;`,
    to: 'return undefined;',
    means: 'pods are promised room on a node that was tainted meanwhile',
    tests: `${src}/admission/promise-writer`,
  },
  {
    place: `${src}/admission/promise-writer.ts`,
    from: 'joined === undefined ? undefined : await this.#writer.readNode(joined.name);',
    to: 'joined;',
    means: 'pods are promised room on a claim whose node goes, because a watch lags',
    tests: `${src}/admission/promise-writer`,
  },
  {
    place: `${src}/admission/patient-create.ts`,
    from: 'if (!isBusy || tries >= triesMax || stop.aborted) throw error;',
    to: 'if (!isBusy || tries >= triesMax) throw error;',
    means: 'a launcher that ends goes on trying to make claims',
    tests: `${src}/admission/patient-create`,
  },
  {
    place: `${src}/admission/void-claims.ts`,
    from: 'const newest = cluster.claims.get(claim.uid);',
    to: 'const newest = claim as NodeClaim | undefined;',
    means: 'a claim that has its instance by now is left alone as void',
    tests: `${src}/admission/void`,
  },
  {
    place: `${src}/admission/verdicts.ts`,
    from: 'admission: marked.get(id),',
    to: 'admission: undefined,',
    means: 'pods whose claim stands are planned again after a take-over',
    tests: `${src}/admission/rounds`,
  },
  {
    place: `${src}/launch/launch.ts`,
    from: 'fresh.deletionMs === undefined && isUnpaired(fresh) && intentIdOf(fresh) === held',
    to: 'fresh.deletionMs === undefined && isUnpaired(fresh)',
    means: 'the intent of another leader is overwritten, and both buy',
    tests: `${src}/launch/intent-races`,
  },
  {
    place: `${src}/launch/launch.ts`,
    from: 'return written.every((isWritten) => isWritten);',
    to: 'return written.some((isWritten) => isWritten);',
    means: 'a request is sent for claims that do not carry it',
    tests: `${src}/launch/intent-races`,
  },
  {
    place: `${src}/launch/launch.ts`,
    from: 'if (againMs > 0) return this.#pacing.postpone(claims, againMs, stop);',
    to: '',
    means: 'a second instance is bought while EC2 does not show the first yet',
    tests: `${src}/launch/adoption`,
  },
  {
    place: `${src}/launch/fleet-requests.ts`,
    from: 'if (ageMs > this.#config.resendMaxMs || (unwanted && !options.isFresh))',
    to: 'if (unwanted && !options.isFresh)',
    means: 'a request whose token EC2 has forgotten buys a second time',
    tests: `${src}/launch/adoption`,
  },
  {
    place: `${src}/launch/pairing.ts`,
    from: '.filter((instance) => !taken.has(instance.id))',
    to: '',
    means: 'one instance goes to two claims',
    tests: `${src}/launch/pairing`,
  },
  {
    place: `${src}/lifecycle/finalization.ts`,
    from: "return found.find(({ id }) => cluster.claims.by('instance', id).length === 0);",
    to: 'return found[0];',
    means: 'a deleted claim takes the instance of a claim that lives',
    tests: `${src}/lifecycle/finalization`,
  },
  {
    place: `${src}/lifecycle/finalization.ts`,
    from: 'isUnpaired(now) ? withoutFinalizer(now, terminationFinalizer) : undefined,',
    to: 'withoutFinalizer(now, terminationFinalizer),',
    means: 'a claim that was paired meanwhile goes, and its instance runs on',
    tests: `${src}/lifecycle/finalization`,
  },
  {
    place: `${src}/lifecycle/placement.ts`,
    from: 'if (waitMs > 0 && leftMs > 0) return { againInMs: waitMs };',
    to: '',
    means: 'a node opens before every watch has shown its bindings, and is overfilled',
    tests: `${src}/lifecycle/`,
  },
];
