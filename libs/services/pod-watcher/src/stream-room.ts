import { streamName, type StreamRole, streamSpecs } from '@dovetail/contracts';
import { messageOf } from '@dovetail/core-ports';

import type { PodWatcherDeps } from './config.js';

/** The streams that refuse new messages once they are full, and what gives them room. */
const remedies: Readonly<Partial<Record<StreamRole, string>>> = {
  state: 'delete pods and nodes that are not needed, or split the cluster',
  catalog: 'delete node classes that are not used',
};
const roles = Object.keys(remedies) as readonly StreamRole[];

/**
 * The share from which a stream is reported. It leaves time for someone to act: the room that is
 * left takes nearly half as much again as what is there.
 */
const warnShare = 0.7;

/** Watches how full the streams are that refuse messages when they have no more room. */
export class StreamRoom {
  readonly #deps: Pick<PodWatcherDeps, 'channel' | 'log' | 'metrics'>;
  /** Streams that were reported, and have not had room again since. */
  readonly #reported = new Set<StreamRole>();

  constructor(deps: Pick<PodWatcherDeps, 'channel' | 'log' | 'metrics'>) {
    this.#deps = deps;
  }

  /**
   * Measures every such stream once. One that has passed 70 % is reported once, until it has room
   * again. A stream that cannot be measured keeps its last figure.
   */
  async measure(): Promise<void> {
    for (const role of roles) await this.#measure(role);
  }

  async #measure(role: StreamRole): Promise<void> {
    const { channel, log, metrics } = this.#deps;
    const name = streamName(channel.cluster, role);
    const { maxBytes = Infinity } =
      streamSpecs(channel.cluster).find((spec) => spec.name === name) ?? {};
    try {
      const bytes = await channel.bus.bytesOf(name);
      metrics.set('dovetail_stream_fill_ratio', bytes / maxBytes, { stream: role });
      this.#report(role, bytes, maxBytes);
    } catch (error) {
      log.debug('stream-not-measured', `${name} could not be measured: ${messageOf(error)}`);
    }
  }

  #report(role: StreamRole, bytes: number, maxBytes: number): void {
    const share = bytes / maxBytes;
    if (share < warnShare) this.#reported.delete(role);
    if (share < warnShare || this.#reported.has(role)) return;
    this.#reported.add(role);
    this.#deps.log.warn(
      'stream-filling',
      `the ${role} stream is ${Math.floor(share * 100)} % full and refuses messages at 100 %; ${remedies[role] ?? ''}`,
      { stream: role, bytes, maxBytes },
    );
  }
}
