import { messageOf, type StopSignal } from '@dovetail/core-ports';

import {
  decodePlannerAnswer,
  decodePlanReply,
  decodePlanRequest,
  encodePlannerAnswer,
  encodePlanReply,
  encodePlanRequest,
  type PlannerAnswer,
} from '../codec/index.js';
import { headersFor } from '../headers.js';
import { limits } from '../limits.js';
import type { Decoded } from '../messages.js';
import type {
  GapReply,
  PlanReply,
  PlanRequest,
  SearchReply,
  SearchRequest,
} from '../planner-messages.js';
import { type PlannerMode, subjects } from '../subjects.js';
import { type Channel, collectBlob, contentId, postBlob } from './channel.js';

/**
 * The outcome of a planning request. A refusal has a stable code: `malformed-request`, `not-ready`,
 * `unknown-pods`, `failed` or `malformed-answer`.
 */
export type PlannerOutcome =
  | { readonly ok: true; readonly reply: PlanReply }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** The outcome of a search. A refusal has a stable code, as that of a plan. */
export type SearchOutcome =
  | { readonly ok: true; readonly found: SearchReply }
  | Extract<PlannerOutcome, { readonly ok: false }>;

/** The outcome of a question for the gap. A refusal has a stable code, as that of a plan. */
export type GapOutcome =
  { readonly ok: true; readonly gap: GapReply } | Extract<PlannerOutcome, { readonly ok: false }>;

/** Every outcome that a solver may have for a request. */
type AnyOutcome = PlannerOutcome | SearchOutcome | GapOutcome;

/**
 * Asks a solver. Rejects with BusError: `no-responders` without a solver, `timeout` when none
 * answers in time.
 */
export async function requestPlan(
  channel: Channel,
  mode: PlannerMode,
  request: PlanRequest,
  options: { readonly timeoutMs: number },
): Promise<PlannerOutcome> {
  const decoded = await ask(channel, mode, request, options);
  if (!decoded.ok) return malformed(decoded);
  switch (decoded.value.kind) {
    case 'refusal':
      return refused(decoded.value);
    case 'reply':
      return { ok: true, reply: decoded.value.reply };
    case 'found':
      return malformed({ field: 'outcome', reason: 'it answers a search' });
    case 'gap':
      return malformed({ field: 'outcome', reason: 'it answers a question for the gap' });
    case 'blob': {
      const whole = await collectBlob(channel, decoded.value.blob);
      if (!whole.ok) return malformed(whole);
      const reply = decodePlanReply(whole.value);
      return reply.ok ? { ok: true, reply: reply.value } : malformed(reply);
    }
  }
}

/** Asks a solver to search. Rejects as `requestPlan` does. */
export async function requestSearch(
  channel: Channel,
  search: SearchRequest,
  options: { readonly budgetMs: number; readonly timeoutMs: number },
): Promise<SearchOutcome> {
  const { budgetMs } = options;
  const request = { podUids: [], withoutNodes: [], budgetMs, search };
  const decoded = await ask(channel, 'plan', request, options);
  if (!decoded.ok) return malformed(decoded);
  if (decoded.value.kind === 'refusal') return refused(decoded.value);
  if (decoded.value.kind === 'found') return { ok: true, found: decoded.value.found };
  return malformed({ field: 'outcome', reason: 'it answers no search' });
}

/**
 * Asks a solver for the price of the nodes beside that of a plan from nothing. A solver that is
 * older than this question answers a plan for no pods, which is refused as malformed. Rejects as
 * `requestPlan` does.
 */
export async function requestGap(
  channel: Channel,
  options: { readonly budgetMs: number; readonly timeoutMs: number },
): Promise<GapOutcome> {
  const { budgetMs } = options;
  const request = { podUids: [], withoutNodes: [], budgetMs, gap: true };
  const decoded = await ask(channel, 'plan', request, options);
  if (!decoded.ok) return malformed(decoded);
  if (decoded.value.kind === 'refusal') return refused(decoded.value);
  if (decoded.value.kind === 'gap') return { ok: true, gap: decoded.value.gap };
  return malformed({ field: 'outcome', reason: 'it answers no question for the gap' });
}

async function ask(
  channel: Channel,
  mode: PlannerMode,
  request: PlanRequest,
  options: { readonly timeoutMs: number },
): Promise<Decoded<PlannerAnswer>> {
  const payload = encodePlanRequest(request);
  const headers = headersFor({
    id: contentId(channel.hash, payload),
    source: { cluster: channel.cluster, service: channel.source },
    type: 'PlanRequest',
    timeMs: channel.clock.nowMs(),
  });
  const answer = await channel.bus.request(subjects.planner(channel.cluster, mode), payload, {
    timeoutMs: options.timeoutMs,
    headers,
  });
  return decodePlannerAnswer(answer.payload);
}

type Refused = Extract<PlannerOutcome, { readonly ok: false }>;

const refused = ({ code, message }: Pick<Refused, 'code' | 'message'>): Refused => ({
  ok: false,
  code,
  message,
});

const malformed = (wrong: { readonly field: string; readonly reason: string }): Refused => ({
  ok: false,
  code: 'malformed-answer',
  message: `the solver's answer cannot be read: ${wrong.field}: ${wrong.reason}`,
});

/**
 * Answers planning requests until `stop`, as one of all solvers. A rejection of the handler becomes
 * the refusal `failed`, so every request gets an answer.
 */
export async function servePlanner(
  channel: Channel,
  handler: (mode: PlannerMode, request: PlanRequest) => Promise<AnyOutcome>,
  stop: StopSignal,
): Promise<void> {
  const serve = (mode: PlannerMode): Promise<void> =>
    channel.bus.serve(
      { subject: subjects.planner(channel.cluster, mode), queue: 'solvers' },
      (message) => answerTo(channel, message.payload, (request) => handler(mode, request)),
      stop,
    );
  await Promise.all([serve('plan'), serve('explain')]);
}

async function answerTo(
  channel: Channel,
  payload: Uint8Array,
  handler: (request: PlanRequest) => Promise<AnyOutcome>,
): Promise<Uint8Array> {
  const request = decodePlanRequest(payload);
  if (!request.ok)
    return encodePlannerAnswer({
      kind: 'refusal',
      code: 'malformed-request',
      message: `${request.field}: ${request.reason}`,
    });
  try {
    return encodePlannerAnswer(await fitting(channel, await handler(request.value)));
  } catch (error) {
    return encodePlannerAnswer({ kind: 'refusal', code: 'failed', message: messageOf(error) });
  }
}

async function fitting(channel: Channel, outcome: AnyOutcome): Promise<PlannerAnswer> {
  if (!outcome.ok) return { kind: 'refusal', code: outcome.code, message: outcome.message };
  if ('found' in outcome) return { kind: 'found', found: outcome.found };
  if ('gap' in outcome) return { kind: 'gap', gap: outcome.gap };
  const bytes = encodePlanReply(outcome.reply);
  if (bytes.length <= limits.messageBytesMax) return { kind: 'reply', reply: outcome.reply };
  return { kind: 'blob', blob: await postBlob(channel, bytes) };
}
