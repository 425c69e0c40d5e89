import type { Condition } from '@dovetail/core-api';
import type { KubeObject } from '@dovetail/core-ports';
import type { NewCondition } from '@dovetail/service-kit';

/** Karpenter's condition on a NodePool: whether its instances become nodes. */
export const registrationHealthType = 'NodeRegistrationHealthy';

/** The outcomes that count: the newest four (Karpenter's BufferSize). */
const outcomesMax = 4;
/** Failures among them that make a pool unhealthy: half of four (Karpenter's ThresholdFalse). */
const failuresMin = 2;

/** Why a claim did not become a node, as the condition tells it. */
export type RegistrationFailure = Pick<NewCondition, 'reason'> & { readonly message: string };

type Known = {
  /** Whether each claim registered, the oldest first. */
  readonly outcomes: readonly boolean[];
  /** The condition that an outcome has led to. Absent: the one that stands stays. */
  readonly condition?: NewCondition;
};

const unknown: NewCondition = {
  type: registrationHealthType,
  status: 'Unknown',
  reason: 'AwaitingReconciliation',
  message: 'object is awaiting reconciliation',
};
const healthy: NewCondition = {
  type: registrationHealthType,
  status: 'True',
  reason: registrationHealthType,
};

/**
 * Judges by Karpenter's rule whether the nodes of a pool register. Two failures among the last four
 * claims make it unhealthy. A success makes it healthy while fewer than two are failures. A change
 * of the pool or of its class makes it unknown.
 */
export class RegistrationHealth {
  readonly #known = new Map<string, Known>();

  /** A claim of the pool has become a node. */
  succeeded(poolUid: string): void {
    const { outcomes, condition } = this.#with(poolUid, true);
    const next = failuresIn(outcomes) < failuresMin ? healthy : condition;
    this.#known.set(poolUid, { outcomes, ...(next === undefined ? {} : { condition: next }) });
  }

  /** A claim of the pool was given up. The first failure that tips the balance is told. */
  failed(poolUid: string, failure: RegistrationFailure): void {
    const { outcomes, condition } = this.#with(poolUid, false);
    const tips = failuresIn(outcomes) >= failuresMin && condition?.status !== 'False';
    const next: NewCondition | undefined = tips
      ? { type: registrationHealthType, status: 'False', ...failure }
      : condition;
    this.#known.set(poolUid, { outcomes, ...(next === undefined ? {} : { condition: next }) });
  }

  /**
   * The condition that a pool should have; undefined when the held one stays. `isChanged` says that
   * pool or class have changed since it was held. The outcomes before that do not count any more.
   */
  conditionOf(
    poolUid: string,
    held: Pick<Condition, 'status'> | undefined,
    isChanged: boolean,
  ): NewCondition | undefined {
    if (held === undefined || isChanged) {
      this.#known.delete(poolUid);
      return unknown;
    }
    const known = this.#known.get(poolUid);
    if (known === undefined) this.#known.set(poolUid, { outcomes: inherited(held) });
    return known?.condition;
  }

  /** Forgets a pool that is gone. */
  forget(poolUid: string): void {
    this.#known.delete(poolUid);
  }

  #with(poolUid: string, outcome: boolean): Known {
    const { outcomes = [], condition } = this.#known.get(poolUid) ?? {};
    const newest = [...outcomes, outcome].slice(-outcomesMax);
    return condition === undefined ? { outcomes: newest } : { outcomes: newest, condition };
  }
}

const failuresIn = (outcomes: readonly boolean[]): number => outcomes.filter((ok) => !ok).length;

/** The outcomes that a predecessor's condition stands for, as after a restart of Karpenter. */
const inherited = ({ status }: Pick<Condition, 'status'>): readonly boolean[] =>
  status === 'True' ? [true] : status === 'False' ? [false, false] : [];

/** The parts of a pool's live status that say what it was written for. */
type PoolStatus = {
  readonly nodeClassObservedGeneration?: number;
  readonly conditions?: readonly { readonly type?: string; readonly observedGeneration?: number }[];
};

/**
 * Whether a pool or its class has changed since the pool's registration health was written, by
 * their generations. `classGeneration` is undefined while there is no class.
 */
export function isChangedSince(pool: KubeObject, classGeneration: number | undefined): boolean {
  const { conditions, nodeClassObservedGeneration } = (pool['status'] ?? {}) as PoolStatus;
  const written = conditions?.find(({ type }) => type === registrationHealthType);
  return (
    written?.observedGeneration !== pool.metadata.generation ||
    (classGeneration !== undefined && nodeClassObservedGeneration !== classGeneration)
  );
}
