import { labNowMs } from '../lab/addresses.js';
import type { Layout } from '../layout/columns.js';
import type { BusRequest } from '../nats/connection.js';
import { readDecisions } from '../nats/read-decisions.js';
import { Unreadable } from '../nats/unreadable.js';
import type { Streams } from '../simulate/run.js';
import { explainExitCodes } from './request.js';
import { type StoryKind, StoryTeller } from './story.js';
import { storyJson, storyText } from './story-text.js';

/** The request of one command line. */
export type StoryRequest = {
  readonly kind: StoryKind;
  readonly name: string;
  readonly bus: BusRequest;
  readonly output: 'table' | 'json';
  readonly layout: Layout;
};

/** The remedy when no kept decision is about an object. */
const remedies: Readonly<Record<StoryKind, string>> = {
  pod: 'write namespace/name; services decide on a pod once its scheduler says that it finds no room, and leave it to that scheduler until then (dovetail status shows pods that wait)',
  claim: 'write the name of a NodeClaim (kubectl get nodeclaims), or of its node or instance',
  pool: 'write the name of a NodePool, or Provisioner/name',
  decision: 'write the id, or its beginning, as dovetail decisions -o json prints it',
};

/**
 * Explains an object by the kept decisions, which it reads to their end. Resolves to the exit code.
 */
export async function runStory(request: StoryRequest, output: Streams): Promise<number> {
  const { kind, name, bus } = request;
  const teller = new StoryTeller(kind, name);
  const unreadable = new Unreadable();
  let read = 0;
  output.progress('reading the decisions…');
  const unread = await readDecisions(bus, {
    name: 'dovetail explain',
    take: (decision) => {
      read += 1;
      if (read % 1_000 === 0) output.progress(`reading the decisions… ${String(read)}`);
      teller.take(decision);
    },
    unreadable: (message) => unreadable.take(message),
  });
  output.progress('');
  output.err(unreadable.line());
  const story = teller.story();
  if (unread !== undefined) output.err(`${unread}\n`);
  if (story === undefined) {
    if (unread !== undefined) return explainExitCodes.unavailable;
    output.err(
      `none of the ${String(read)} kept decisions is about ${kind} ${name}: ${remedies[kind]}\n`,
    );
    return explainExitCodes.notFound;
  }
  const ids = teller.ambiguous();
  if (ids.length > 0) {
    output.err(
      `${name} is the beginning of ${String(ids.length)} decisions: ${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ', …' : ''}; write more of one\n`,
    );
    return explainExitCodes.notFound;
  }
  output.out(
    request.output === 'json' ? storyJson(story) : storyText(story, labNowMs(), request.layout),
  );
  return explainExitCodes.done;
}
