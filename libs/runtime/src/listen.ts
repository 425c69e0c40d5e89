import { messageOf } from '@dovetail/core-ports';
import type { FastifyInstance } from 'fastify';

import { SettingsError } from './settings.js';

/** Where to listen, and the settings that a user would change if that fails. */
export type ListenOptions = {
  /** 0: any free port. */
  readonly port: number;
  readonly host: string;
  /** The flag and variable of the port, such as `--http-port (or HTTP_PORT)`. */
  readonly portSetting: string;
};

/**
 * Listens, and resolves to the port. A machine without IPv6 cannot listen on `::`; it listens on
 * its IPv4 addresses. Rejects with SettingsError, which names the settings and the remedy.
 */
export async function listenOn(
  server: FastifyInstance,
  { port, host, portSetting }: ListenOptions,
): Promise<number> {
  try {
    await server.listen({ port, host });
  } catch (error) {
    if (host !== '::' || !isWithoutIpv6(error))
      throw new SettingsError(
        `--http-host (or HTTP_HOST) ${host} and ${portSetting} ${port}: ${messageOf(error)}. Give an address of this machine and a port that is free.`,
        { cause: error },
      );
    await server.listen({ port, host: '0.0.0.0' });
  }
  const address = server.server.address();
  return address !== null && typeof address === 'object' ? address.port : port;
}

const isWithoutIpv6 = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EAFNOSUPPORT';
