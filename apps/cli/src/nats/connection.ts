import { connectNats, type NatsOptions, type SecretFiles, secretsOf } from '@dovetail/adapter-nats';
import { inboxOf } from '@dovetail/contracts';
import { type Bus, type BusError, type Log, messageOf } from '@dovetail/core-ports';
import { natsServers } from '@dovetail/runtime';
import { isBusReaderUrl, readBus } from '@dovetail/sim-bus';

import { labAddress, labFiles } from '../lab/addresses.js';

/** Which bus a command reads, of which cluster. */
export type BusRequest = {
  readonly cluster: string;
  /** Address of NATS, several separated by commas. If undefined, it is found as `--help` says. */
  readonly nats: string | undefined;
  /** Paths of the files that prove who this client is, and who NATS is; empty: none. */
  readonly secrets: SecretFiles;
};

/** The longest wait for the connection, and for one answer, in milliseconds. */
const answerMs = 5_000;

/** The addresses of a bus. */
export const serversOf = ({ nats }: BusRequest): readonly string[] =>
  (nats ?? labAddress('nats') ?? 'nats://127.0.0.1:4222').split(',').map((server) => server.trim());

/** Where messages for people go. */
type Output = { err(text: string): void };

/** Connects to NATS, or to the bus inside the services' process of a lab that runs without NATS. */
export function busOf(options: NatsOptions): {
  readonly bus: Bus;
  readonly close: () => Promise<void>;
} {
  const [server = ''] = options.servers;
  if (isBusReaderUrl(server)) return { bus: readBus(server), close: () => Promise.resolve() };
  const bus = connectNats(options);
  return { bus, close: () => bus.close() };
}

/** The connection that a command line asks for. Undefined: its files cannot be used; it is told. */
export function natsOptions(
  request: BusRequest,
  name: string,
  output: Output,
): NatsOptions | undefined {
  const servers = serversOf(request);
  const fault = addressFault(servers);
  if (fault !== undefined) {
    output.err(`--nats (or NATS_URL) is "${request.nats ?? ''}": ${fault}\n`);
    return undefined;
  }
  try {
    return {
      servers,
      name,
      timeoutMs: answerMs,
      log: logTo(output),
      inboxPrefix: inboxOf(request.cluster, 'reader'),
      ...secretsOf(servers, request.secrets),
    };
  } catch (error) {
    output.err(
      `--nats-credentials ${request.secrets.natsCredentials}: ${messageOf(error)}; give the path of a .creds file or of an NKey seed\n`,
    );
    return undefined;
  }
}

/** The fault of an address, and its remedy. The bus of a lab without NATS has an HTTP one. */
function addressFault(servers: readonly string[]): string | undefined {
  const [first = ''] = servers;
  if (servers.length === 1 && isBusReaderUrl(first) && URL.canParse(first)) return undefined;
  try {
    natsServers(servers.join(','));
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Turns the connection's own warnings into sentences that say what it waits for. */
const logTo = (output: Output): Log => {
  const say = (_name: string, message: string): void => output.err(`${message}\n`);
  return { debug: () => undefined, info: () => undefined, warn: say, error: say };
};

/** Why the decisions cannot be read, and what to do. */
export function remedyOf(
  error: BusError,
  { cluster, servers }: { readonly cluster: string; readonly servers: readonly string[] },
): string {
  const at = servers.join(', ');
  switch (error.code) {
    case 'no-stream':
      return `NATS at ${at} has no decisions of a cluster named ${cluster}: check that --cluster (or CLUSTER_NAME) is the services' name for it, and that a service runs`;
    case 'denied':
      return `NATS at ${at} refuses: give --nats-credentials with the right to read the decisions`;
    case 'server-too-old':
      return `NATS at ${at} is too old: 2.11 or newer is needed`;
    case 'no-responders':
      return `NATS at ${at} runs without JetStream: start it with JetStream enabled`;
    case 'unavailable':
    case 'timeout':
      return servers.some(isBusReaderUrl)
        ? `${error.message}: give its address with --nats or NATS_URL`
        : awayText(error, at);
    case 'stream-refused':
    case 'too-large':
    case 'full':
    case 'wrong-last-sequence':
      return error.message;
  }
}

/** Why there is no answer: there is no server, it is stopped, or it fails. */
function awayText({ code, message, cause }: BusError, at: string): string {
  const within = `within ${String(answerMs / 1_000)} s`;
  if (code === 'timeout')
    return `NATS at ${at} did not answer ${within}: check that the server there is not stopped, or give another address with --nats or NATS_URL`;
  return cause === undefined
    ? `NATS at ${at} cannot be reached ${within}: give its address with --nats or NATS_URL (make lab starts one, and leaves its address in ${labFiles.nats})`
    : `NATS at ${at} fails (${message}): look into its log, and try again`;
}
