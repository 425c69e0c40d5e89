import type { StreamListener } from './frame-link.js';

/**
 * Opens a stream of server-sent events. Returns its end. The browser's own reader of such streams
 * does not tell why one was refused.
 */
export function openStream(address: string, listener: StreamListener): () => void {
  const aborter = new AbortController();
  void follow(address, listener, aborter.signal);
  return () => aborter.abort();
}

async function follow(
  address: string,
  { onText, onBroken }: StreamListener,
  signal: AbortSignal,
): Promise<void> {
  const answer = await fetch(address, { cache: 'no-store', signal }).catch(() => undefined);
  const why = answer?.ok === false ? await refusalOf(answer) : undefined;
  if (answer?.ok === true && answer.body !== null)
    for await (const text of eventsOf(answer.body)) {
      if (signal.aborted) return;
      onText(text);
    }
  if (!signal.aborted) onBroken(why);
}

/** The console's words about a refusal. Undefined: someone else answers, such as a proxy. */
async function refusalOf(answer: Response): Promise<string | undefined> {
  try {
    const { error } = (await answer.json()) as { readonly error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}

/** The data of each event, until the stream ends or breaks. */
async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  for (;;) {
    const { value } = await reader.read().catch(() => ({ value: undefined }));
    if (value === undefined) return;
    const events = `${rest}${decoder.decode(value, { stream: true })}`.split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) if (event.startsWith(data)) yield event.slice(data.length);
  }
}

/** The beginning of an event of the console: it has one line of data, and nothing else. */
const data = 'data: ';
