import { type DeliveredMessage, type Log, messageOf, type StopSignal } from '@dovetail/core-ports';
import { Svcm } from '@nats-io/services';
import type { NatsConnection } from '@nats-io/transport-node';

import { busErrorOf } from './api.js';
import type { NatsLink } from './link.js';
import { headersOf, payloadOf } from './message.js';
import { pause } from './signal.js';

/**
 * Answers requests as a member of the NATS services framework, so that `nats micro` lists it with
 * its statistics. Until `stop`.
 */
export async function serve(
  deps: { readonly link: NatsLink; readonly log: Log },
  options: { subject: string; queue: string },
  handler: (request: DeliveredMessage) => Promise<Uint8Array>,
  stop: StopSignal,
): Promise<void> {
  while (!stop.aborted) {
    const connection = await deps.link.connectionUnless(stop);
    if (connection === undefined) return;
    try {
      await serveOn(connection, options, handler, stop);
    } catch (error) {
      deps.log.warn('nats-serve', busErrorOf(error, options.subject).message, {
        subject: options.subject,
      });
      await pause(500, stop);
    }
  }
}

/**
 * Whether a message is a client's request. NATS delivers messages of streams and answers of its own
 * on any subject that a client names, and asks no rights for it. Such a delivery has no inbox for
 * the answer.
 */
const isAsked = (reply: string | undefined): boolean => reply?.startsWith('_INBOX') === true;

/**
 * Serves until `stop`, or until this connection is closed for good (reconnects keep the
 * subscription).
 */
async function serveOn(
  connection: NatsConnection,
  options: { subject: string; queue: string },
  handler: (request: DeliveredMessage) => Promise<Uint8Array>,
  stop: StopSignal,
): Promise<void> {
  const service = await new Svcm(connection).add({
    name: options.subject.replace(/[^A-Za-z0-9_-]/g, '-'),
    version: '1.0.0',
    queue: options.queue,
  });
  service.addEndpoint('default', {
    subject: options.subject,
    queue: options.queue,
    handler: (error, message) => {
      if (error !== null) return;
      if (!isAsked(message.reply)) return;
      const request: DeliveredMessage = {
        subject: message.subject,
        payload: payloadOf(message.data),
        headers: headersOf(message.headers),
        sequence: 0,
        timeMs: Date.now(),
      };
      handler(request).then(
        (answer) => message.respond(answer),
        (failure: unknown) => message.respondError(500, messageOf(failure)),
      );
    },
  });
  const stopped = new Promise<void>((resolve) =>
    stop.addEventListener('abort', () => resolve(), { once: true }),
  );
  await Promise.race([stopped, connection.closed()]);
  if (!connection.isClosed()) await service.stop();
}
