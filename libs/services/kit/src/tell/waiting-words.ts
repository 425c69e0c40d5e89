import type { Decision } from '@dovetail/contracts';

/** Why a pod waits, by the last decision about it or the verdict on it. */
export type WaitingWords = {
  /** For people. */
  readonly why: string;
  readonly codes: readonly string[];
  /** The smallest change that would place it, if one is known. */
  readonly remedy?: string;
};

type Told = Pick<Decision, 'reasons'> & {
  readonly summary: string;
  /** Present: the pod is to go there. */
  readonly claimName?: string;
  readonly isAdmitted: boolean;
};

/** The words of a decision about a pod that waits for a node, or of the verdict on it. */
export function waitingWords({ reasons, summary, claimName = '', isAdmitted }: Told): WaitingWords {
  const codes = [...new Set(reasons.map(({ code }) => code))];
  if (isAdmitted) {
    const why = claimName === '' ? summary : `its node is on the way: NodeClaim ${claimName}`;
    return { why, codes };
  }
  const [first] = reasons;
  if (first === undefined) return { why: summary, codes };
  const why = [...new Set(reasons.map(({ message }) => message))].join('; ');
  return { why, codes, ...(first.remedy === undefined ? {} : { remedy: first.remedy }) };
}

/** The name of Kubernetes' own scheduler, which binds pods that name no other. */
const ownScheduler = 'default-scheduler';

/** The words about a pod that its scheduler has not tried yet. Dovetail waits for its answer. */
export const untriedWords = (scheduler: string): string =>
  scheduler === ownScheduler
    ? 'kube-scheduler has not tried it yet'
    : `scheduler ${scheduler} has not said yet that it finds no room; a node is planned for once it does`;

/** Why a pod waits, and who will bind it, if that is another scheduler than Kubernetes' own. */
export const withBinder = (why: string, scheduler: string): string =>
  scheduler === ownScheduler
    ? why
    : `${why} (left to scheduler ${scheduler}, which alone binds it)`;
