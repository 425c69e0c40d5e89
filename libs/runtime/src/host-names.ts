/** Reads names of hosts, separated by commas. The reader throws Error with the remedy. */
export function hostNames(given: string): string {
  for (const name of given.split(','))
    if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(name))
      throw new Error(
        `"${name}" is no name of a host: give names without scheme, port and spaces, such as console.example.com, separated by commas`,
      );
  return given;
}

/**
 * Whether a request names a host that is meant: `localhost`, an address, or one of these names. A
 * page of another name may lead a browser here by DNS and read the answers as its own. It cannot
 * change the name that the browser sends. An address cannot be rebound, so any will do.
 */
export function isOwnHost(header: string | undefined, names: readonly string[] = []): boolean {
  const host = (header ?? '').toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
  return (
    host === 'localhost' ||
    /^\d{1,3}(\.\d{1,3}){3}$/.test(host) ||
    /^\[[0-9a-f:.]+\]$/.test(host) ||
    names.some((name) => name.toLowerCase() === host)
  );
}
