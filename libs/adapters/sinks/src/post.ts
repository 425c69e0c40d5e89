import { messageOf, type Outcome } from '@dovetail/core-ports';

/** A request to a receiver. */
export type PostRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly timeoutMs: number;
  /** The time now, to read a `Retry-After` that is a date. */
  readonly nowMs: number;
};

/** How much of an answer is told: the words of an error stand at its beginning. */
const answerLengthMax = 200;

/**
 * Posts once, and follows no redirect: it would drop the body or the signature's headers. 2xx has
 * taken the event. 408, 425, 429, 5xx and a failure of the network are worth another try, any other
 * answer is not.
 */
export async function post(request: PostRequest): Promise<Outcome> {
  const { url, headers, body, timeoutMs, nowMs } = request;
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      signal,
      redirect: 'manual',
    });
    if (response.ok) {
      // The event is taken, whatever becomes of the words.
      void response.body?.cancel().catch(() => undefined);
      return { kind: 'taken' };
    }
    const answer = await beginningOf(response).catch(() => '');
    const reason = `it answered ${String(response.status)}${answer === '' ? '' : `: ${answer}`}`;
    if (!mayPass(response.status)) return { kind: 'refused', reason: reason + hintOf(response) };
    const waitMs = retryAfterMs(response.headers.get('retry-after'), nowMs);
    return { kind: 'again', reason, ...(waitMs === undefined ? {} : { waitMs }) };
  } catch (error) {
    return { kind: 'again', reason: failureOf(error, timeoutMs) };
  }
}

const mayPass = (status: number): boolean => [408, 425, 429].includes(status) || status >= 500;

const hintOf = ({ status }: Response): string =>
  status >= 300 && status < 400 ? ': a redirect is not followed; give its target as the url' : '';

/** The address holds secrets, so only the cause is told. */
function failureOf(error: unknown, timeoutMs: number): string {
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return `it did not answer within ${String(timeoutMs / 1_000)} s`;
  const cause = error instanceof Error ? error.cause : undefined;
  return `it cannot be reached: ${messageOf(cause ?? error)}`;
}

/** Reads no more than is told: a receiver may answer without end. */
async function beginningOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return '';
  const { value } = (await reader.read()) as { readonly value?: Uint8Array };
  await reader.cancel();
  const text = new TextDecoder().decode(value?.subarray(0, 4 * answerLengthMax));
  return text.replace(/\s+/g, ' ').trim().slice(0, answerLengthMax);
}

/** Seconds or a date, by RFC 9110. Undefined: none, or one that cannot be read. */
export function retryAfterMs(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1_000;
  const atMs = Date.parse(header);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
