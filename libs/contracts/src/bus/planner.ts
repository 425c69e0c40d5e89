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
import type { PlanReply, PlanRequest } from '../messages.js';
import { type PlannerMode, subjects } from '../subjects.js';
import { type Channel, collectBlob, contentId, postBlob } from './channel.js';

/**
 * The outcome of a planning request. A refusal has a stable code: `malformed-request`, `not-ready`,
 * `unknown-pods`, `failed` or `malformed-answer`.
 */
export type PlannerOutcome =
  | { readonly ok: true; readonly reply: PlanReply }
  | { readonly ok: false; readonly code: string; readonly message: string };

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
  const payload = encodePlanRequest(request);
  const headers = headersFor({
    id: contentId(channel.hash, payload),
    source: channel.source,
    type: 'PlanRequest',
    timeMs: channel.clock.nowMs(),
  });
  const answer = await channel.bus.request(subjects.planner(channel.cluster, mode), payload, {
    timeoutMs: options.timeoutMs,
    headers,
  });
  const decoded = decodePlannerAnswer(answer.payload);
  if (!decoded.ok) return malformed(decoded);
  if (decoded.value.kind === 'refusal')
    return { ok: false, code: decoded.value.code, message: decoded.value.message };
  if (decoded.value.kind === 'reply') return { ok: true, reply: decoded.value.reply };
  const whole = await collectBlob(channel, decoded.value.blob);
  if (!whole.ok) return malformed(whole);
  const reply = decodePlanReply(whole.value);
  return reply.ok ? { ok: true, reply: reply.value } : malformed(reply);
}

const malformed = (wrong: { readonly field: string; readonly reason: string }): PlannerOutcome => ({
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
  handler: (mode: PlannerMode, request: PlanRequest) => Promise<PlannerOutcome>,
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
  handler: (request: PlanRequest) => Promise<PlannerOutcome>,
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

async function fitting(channel: Channel, outcome: PlannerOutcome): Promise<PlannerAnswer> {
  if (!outcome.ok) return { kind: 'refusal', code: outcome.code, message: outcome.message };
  const bytes = encodePlanReply(outcome.reply);
  if (bytes.length <= limits.messageBytesMax) return { kind: 'reply', reply: outcome.reply };
  return { kind: 'blob', blob: await postBlob(channel, bytes) };
}
