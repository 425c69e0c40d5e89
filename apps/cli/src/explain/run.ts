import { messageOf } from '@dovetail/core-ports';

import { type Explanation, explanationOf, tableOf } from './explanation.js';

/** The request of one command line. */
export type ExplainRequest = {
  /** The name of a node or of its NodeClaim. */
  readonly name: string;
  readonly output: 'table' | 'json';
  /** The address of the reaper's HTTP port. */
  readonly reaper: string;
};

/** Exit codes: done; bad flags; no such node (EX_NOINPUT); the reaper cannot be asked. */
const explainExitCodes = { done: 0, badInput: 64, notFound: 66, unavailable: 69 } as const;

/** Where the command writes: results to `out`, messages for people to `err`. */
type Output = { out(text: string): void; err(text: string): void };

/** The longest wait for the reaper. It explains a node from memory, in milliseconds. */
const timeoutMs = 10_000;

/** Asks the reaper why a node stays or goes, and prints its answer. Resolves to the exit code. */
export async function runExplain(request: ExplainRequest, output: Output): Promise<number> {
  const { name, reaper } = request;
  let response: Response;
  let body: unknown;
  try {
    const page = new URL(`debug/explain?node=${encodeURIComponent(name)}`, `${reaper}/`);
    response = await fetch(page, { signal: AbortSignal.timeout(timeoutMs) });
    body = await response.json();
  } catch (error) {
    output.err(
      `the reaper at ${reaper} cannot be asked (${messageOf(error)}): run kubectl port-forward deployment/dovetail-reaper 8080, or give its address with --reaper\n`,
    );
    return explainExitCodes.unavailable;
  }
  const explanation = response.ok ? explanationOf(body) : undefined;
  if (explanation !== undefined) return print(explanation, body, request, output);
  const { error } = (body ?? {}) as { readonly error?: unknown };
  const isMissing = response.status === 404 && String(error).startsWith('there is no');
  output.err(
    typeof error === 'string'
      ? `${error}\n`
      : `the answer of ${reaper} is no explanation of a node: give the address of a reaper of this release with --reaper\n`,
  );
  return isMissing ? explainExitCodes.notFound : explainExitCodes.unavailable;
}

function print(
  explanation: Explanation,
  body: unknown,
  { output: format }: ExplainRequest,
  output: Output,
): number {
  output.out(format === 'json' ? `${JSON.stringify(body, undefined, 2)}\n` : tableOf(explanation));
  return explainExitCodes.done;
}
