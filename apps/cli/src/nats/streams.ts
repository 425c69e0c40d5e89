import { deadLetterSpec, streamSpecs } from '@dovetail/contracts';
import { type Clock, messageOf, type StopSignal, type StreamAdmin } from '@dovetail/core-ports';

/** Which streams to make, and for how long. */
export type StreamsRequest = {
  readonly cluster: string;
  /** Makes the stream of dead letters, too. */
  readonly sinks: boolean;
  /** Stays until `stop`, and makes a stream again that is lost. */
  readonly keep: boolean;
};

/** How often it looks. A deleted stream stops scale-up until then; each look is eight questions. */
const everyMs = 2_000;
/** Exit code of a service that is not there (EX_UNAVAILABLE). */
const unavailable = 69;

type Output = { readonly out: (text: string) => void; readonly err: (text: string) => void };

/**
 * Makes the streams of a cluster, or updates them. Answers the exit code. With `keep` it goes on
 * until `stop`, and tells a failure once.
 */
export async function makeStreams(
  {
    bus,
    clock,
    output,
  }: { readonly bus: StreamAdmin; readonly clock: Clock; readonly output: Output },
  { cluster, sinks, keep }: StreamsRequest,
  stop: StopSignal,
): Promise<number> {
  const specs = [...streamSpecs(cluster), ...(sinks ? [deadLetterSpec(cluster)] : [])];
  const made = `the ${String(specs.length)} streams of cluster ${cluster} are there\n`;
  let told = '';
  while (!stop.aborted) {
    const fault = await bus.ensureStreams(specs).then(() => undefined, messageOf);
    const text = fault === undefined ? made : `${fault}\n`;
    if (text !== told) (fault === undefined ? output.out : output.err)(text);
    told = text;
    if (!keep) return fault === undefined ? 0 : unavailable;
    await clock.sleep(everyMs, stop);
  }
  return 0;
}
