import { messageOf } from '@dovetail/core-ports';

import { labNowMs } from '../lab/addresses.js';
import { type Answer, ask, NotAsked } from './asked.js';
import { type Explanation, explanationJson, explanationOf, tableOf } from './explanation.js';
import { explainExitCodes, type ExplainRequest } from './request.js';

/** Where the command writes: results to `out`, messages for people to `err`. */
type Output = { out(text: string): void; err(text: string): void };

/** Asks the reaper why a node stays or goes, and prints its answer. Resolves to the exit code. */
export async function runExplain(request: ExplainRequest, output: Output): Promise<number> {
  let answer: Answer;
  try {
    answer = await ask(request, `debug/explain?node=${encodeURIComponent(request.name)}`);
  } catch (error) {
    if (!(error instanceof NotAsked)) throw error;
    output.err(`${messageOf(error)}\n`);
    return explainExitCodes.unavailable;
  }
  const { status, by } = answer;
  const body = jsonOf(answer.body);
  const explanation = status === 200 ? explanationOf(body) : undefined;
  if (explanation !== undefined) return print(explanation, body, request, output);
  const { error } = (body ?? {}) as { readonly error?: unknown };
  const isMissing = status === 404 && String(error).startsWith('there is no');
  output.err(
    typeof error === 'string'
      ? `${by} answers: ${error}\n`
      : `the answer of ${by} is no explanation of a node: give the address of a reaper of this release with --reaper\n`,
  );
  return isMissing ? explainExitCodes.notFound : explainExitCodes.unavailable;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function print(
  explanation: Explanation,
  body: unknown,
  { output: format, layout }: ExplainRequest,
  output: Output,
): number {
  output.out(
    format === 'json' ? explanationJson(body as object) : tableOf(explanation, labNowMs(), layout),
  );
  return explainExitCodes.done;
}
