import { periodText } from '@dovetail/core-fleet/words';

import { columns, type Layout } from '../layout/columns.js';
import { sentence } from '../layout/sentence.js';

/** The name and version of the form of `dovetail explain node … -o json`. It only gains fields. */
const explanationSchema = 'dovetail.sh/explain-node/v1';

type Reason = {
  readonly code: string;
  readonly message: string;
  readonly values?: Readonly<Record<string, string>>;
};

/** The reaper's explanation of a node, as its HTTP port answers. */
export type Explanation = {
  readonly node?: string;
  readonly claim: string;
  readonly pool: string;
  readonly priceMicrosPerHour: number;
  readonly priceEstimated?: boolean;
  /** The trace in which the node was launched, if its launcher traces. */
  readonly traceId?: string;
  readonly outcome: string;
  readonly summary: string;
  readonly answers: readonly {
    readonly about: string;
    readonly outcome: string;
    readonly dueMs?: number;
    readonly reasons: readonly Reason[];
    /** Why the node stays although this cause is due. */
    readonly heldBy?: readonly Reason[];
  }[];
};

/** Reads the answer. Undefined: it is not an explanation. */
export function explanationOf(body: unknown): Explanation | undefined {
  const given = (body ?? {}) as Partial<Explanation>;
  const isRead =
    typeof given.claim === 'string' &&
    typeof given.summary === 'string' &&
    typeof given.outcome === 'string' &&
    Array.isArray(given.answers);
  return isRead ? (given as Explanation) : undefined;
}

const header = ['ABOUT', 'ANSWER', 'WHEN', 'REASON'] as const;

/**
 * The explanation for people: a sentence, and a row for each reason. Only a terminal gives a width.
 */
export function tableOf(explanation: Explanation, nowMs: number, layout: Layout = {}): string {
  const { node, claim, pool, priceMicrosPerHour, outcome, summary, answers, traceId } = explanation;
  const verb = { goes: 'goes', due: 'may go now', later: 'stays for now' }[outcome] ?? 'stays';
  const about = explanation.priceEstimated === true ? '~' : '';
  const price =
    priceMicrosPerHour > 0 ? `, ${about}$${(priceMicrosPerHour / 1e6).toFixed(4)}/h` : '';
  const rows = answers.flatMap(({ about: subject, outcome: answer, dueMs, reasons, heldBy = [] }) =>
    [...onceEach(reasons), ...onceEach(heldBy).map(heldText)].map((message, index) =>
      index === 0 ? [subject, answer, timeOf(dueMs, nowMs), message] : ['', '', '', message],
    ),
  );
  const head = `${node ?? 'no node yet'} (NodeClaim ${claim}, ${pool}${price}) ${verb}: ${summary}`;
  const traced = traceId === undefined ? '' : `launched in trace ${traceId}\n`;
  return `${sentence(head, layout)}\n${traced}\n${columns(header, rows, layout)}`;
}

/**
 * Each message once, with the pods that it is about: one PodDisruptionBudget may hold several. A
 * message that names its pod stands as it is.
 */
function onceEach(reasons: readonly Reason[]): readonly string[] {
  const pods = new Map<string, string[]>();
  for (const { message, values } of reasons) {
    const { pod } = values ?? {};
    const held = pods.get(message) ?? [];
    pods.set(message, pod === undefined || message.includes(pod) ? held : [...held, pod]);
  }
  return [...pods].map(([message, names]) =>
    names.length === 0 ? message : `${message} (${names.join(', ')})`,
  );
}

const heldText = (message: string): string => `held: ${message}`;

function timeOf(ms: number | undefined, nowMs: number): string {
  if (ms === undefined) return '-';
  return ms > nowMs ? `in ${periodText(ms - nowMs)}` : 'now';
}

/** The reaper's answer for machines: whole, with the name of its form. */
export const explanationJson = (answer: object): string =>
  `${JSON.stringify({ schema: explanationSchema, ...answer }, undefined, 2)}\n`;
