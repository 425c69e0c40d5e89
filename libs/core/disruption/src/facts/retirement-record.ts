import { lookUp } from '@dovetail/core-invariant';
import { isRecord } from '@dovetail/core-kube-model';

const retirementCauses = [
  'empty',
  'expired',
  'drifted',
  'interrupted',
  'unhealthy',
  'underutilized',
] as const;
/** Why a node is retired. */
export type RetirementCause = (typeof retirementCauses)[number];

/**
 * A retirement in progress, as in the annotation `dovetail.sh/retirement` of its Node. It holds all
 * that a successor needs after a crash. It is written together with the taint, and removed with it
 * when the retirement is given up. Times are milliseconds since 1970.
 */
export type Retirement = {
  readonly cause: RetirementCause;
  /** When it began. */
  readonly atMs: number;
  /**
   * When the instance goes away by itself: two minutes after a spot notice (AWS' documentation).
   */
  readonly deadlineMs?: number;
  /**
   * The longest drain of an unhealthy node once its pods have another place. Absent on such a node:
   * it ends by force.
   */
  readonly drainMs?: number;
  /**
   * The kind of interruption, the type of the unhealthy condition, the reason of the drift, or the
   * name of the command that gives up an under-used node.
   */
  readonly detail?: string;
  /**
   * The plan by which a command buys a node for the pods. It is published once, after this record
   * is written, and nothing else is asked for. Absent: the command buys nothing.
   */
  readonly planId?: string;
  /**
   * The resource of the command of several nodes that gives up this node. They end together.
   * Absent: nothing else hangs on this node.
   */
  readonly disruption?: string;
  /**
   * When a solver was last asked for a replacement. Written before asking, so a crash costs a wait
   * and never a second node.
   */
  readonly askedMs?: number;
  /**
   * The number of pods for which the solver's last answer had no place. Absent: none, or no answer
   * yet.
   */
  readonly unplaced?: number;
  /**
   * When a solver first answered, even if it could not place the pods. The wait for a replacement
   * counts from here, so that an outage of the solvers takes nothing from it.
   */
  readonly answeredMs?: number;
};

const causes: ReadonlySet<unknown> = new Set(retirementCauses);
const numberFields = ['deadlineMs', 'drainMs', 'askedMs', 'unplaced', 'answeredMs'] as const;
const textFields = ['detail', 'planId', 'disruption'] as const;

/** The fields of these names that have this type. */
const fieldsOf = (
  value: Readonly<Record<string, unknown>>,
  names: readonly string[],
  type: 'number' | 'string',
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    names.flatMap((name) =>
      typeof lookUp(value, name) === type ? [[name, lookUp(value, name)]] : [],
    ),
  );

/**
 * Reads the annotation. Undefined when it is absent or malformed: then Dovetail is not retiring the
 * node.
 */
export function parseRetirement(text: string | undefined): Retirement | undefined {
  let value: unknown;
  try {
    value = text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const { cause, atMs } = value;
  if (!causes.has(cause) || typeof atMs !== 'number') return undefined;
  return {
    cause: cause as RetirementCause,
    atMs,
    ...fieldsOf(value, numberFields, 'number'),
    ...fieldsOf(value, textFields, 'string'),
  };
}

/** Writes the annotation. Equal retirements give equal text. */
export const renderRetirement = (retirement: Retirement): string =>
  JSON.stringify(retirement, ['cause', 'atMs', ...numberFields, ...textFields]);

/** The cause as Karpenter's metrics name it: an interruption by its kind. */
export const shownCause = ({ cause, detail }: Pick<Retirement, 'cause' | 'detail'>): string =>
  cause === 'interrupted' ? (detail ?? cause) : cause;
