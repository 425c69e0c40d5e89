import { accessSync, constants, statSync } from 'node:fs';
import { isIP } from 'node:net';

/** A reader of names that match a pattern. It throws Error with the remedy. */
const named =
  (pattern: RegExp, remedy: string) =>
  (given: string): string => {
    if (pattern.test(given)) return given;
    throw new Error(remedy);
  };

/** Reads a region of AWS, by the form that all of its partitions share. */
export const awsRegion = named(
  /^[a-z]{2,10}(-[a-z]{2,15}){1,3}-[0-9]{1,2}$/,
  'give the name of a region, such as us-west-2',
);

/** Reads the name of an instance profile, by IAM's rule. */
export const instanceProfileName = named(
  /^[\w+=,.@-]{1,128}$/,
  'give the name of an instance profile: up to 128 letters, digits and +=,.@_-, without path or ARN',
);

/** Reads the name of a queue, by SQS' rule. */
export const queueName = named(
  /^[0-9A-Za-z_-]{1,80}$/,
  'give the name of the queue: up to 80 letters, digits, - and _, without URL or ARN',
);

/** Reads the name of a namespace, by Kubernetes' rule for DNS labels. */
export const namespaceName = named(
  /^[0-9a-z]([-0-9a-z]{0,61}[0-9a-z])?$/,
  'give the name of a namespace: up to 63 small letters, digits and -',
);

/** Reads the name of a replica, as long as a host's name may be. */
export const replicaName = named(
  /^[0-9A-Za-z][0-9A-Za-z._-]{0,252}$/,
  'give up to 253 letters, digits, ., - and _, beginning with a letter or digit',
);

const hostName = /^(?=.*[a-z])[0-9a-z]([0-9a-z.-]{0,251}[0-9a-z])?$/i;

/** Reads an address to listen on. The reader throws Error with the remedy. */
export function listenHost(given: string): string {
  if (isIP(given) !== 0 || hostName.test(given)) return given;
  throw new Error('give an address or the name of a host, such as 127.0.0.1 or ::');
}

/** Reads the servers of one NATS, separated by commas. The reader throws Error with the remedy. */
export function natsServers(given: string): string {
  if (given.split(',').every(isNatsServer)) return given;
  throw new Error(
    'give nats:// or tls:// with host and port, such as nats://nats:4222; several separated by commas, without spaces. Credentials go into NATS_CREDENTIALS',
  );
}

function isNatsServer(server: string): boolean {
  const [, address] = /^(?:nats:\/\/|tls:\/\/)?([^\s/@?#]+)$/.exec(server) ?? [];
  const url = `http://${address ?? ''}`;
  if (address === undefined || !URL.canParse(url)) return false;
  const { hostname } = new URL(url);
  // A URL turns a lone number into an IPv4 address; a person who wrote one meant no server.
  const isNumber = /^[0-9a-fx]+$/i.test(address) && isIP(hostname) === 4;
  return !isNumber && (isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0 || hostName.test(hostname));
}

/** Reads the path of a file that can be read now. The reader throws Error with the remedy. */
export function readableFile(given: string): string {
  try {
    accessSync(given, constants.R_OK);
    if (statSync(given).isFile()) return given;
  } catch {
    // The error below says what to do.
  }
  throw new Error('give the path of a file that this process may read; there is none');
}
