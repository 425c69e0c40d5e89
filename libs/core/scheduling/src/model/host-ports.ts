import type { HostPort } from '@dovetail/core-kube-model';

const everywhere = (ip: string): boolean => ip === '' || ip === '0.0.0.0' || ip === '::';

/** Whether two host ports clash on one node: same port, same protocol, overlapping addresses. */
export const portsClash = (a: HostPort, b: HostPort): boolean =>
  a.port === b.port &&
  a.protocol === b.protocol &&
  (a.ip === b.ip || everywhere(a.ip) || everywhere(b.ip));

/** Whether any of `wanted` clashes with any of `taken`. */
export const anyClash = (taken: readonly HostPort[], wanted: readonly HostPort[]): boolean =>
  wanted.some((port) => taken.some((other) => portsClash(port, other)));
