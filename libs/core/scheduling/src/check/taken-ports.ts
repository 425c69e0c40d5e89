import type { HostPort, Pod } from '@dovetail/core-kube-model';

const wildcards = new Set(['', '0.0.0.0', '::']);
const addressesCollide = (a: string, b: string): boolean =>
  a === b || wildcards.has(a) || wildcards.has(b);

/** The addresses on which ports of a node are taken. A pod may take thousands of ports. */
export class TakenPorts {
  readonly #addresses = new Map<string, Set<string>>();

  /** Takes the ports of a pod. */
  add({ hostPorts }: Pod): void {
    for (const { ip, port, protocol } of hostPorts) {
      const name = `${port}/${protocol}`;
      const known = this.#addresses.get(name) ?? new Set<string>();
      this.#addresses.set(name, known.add(ip));
    }
  }

  /** Whether a port is taken on an address that collides with its own. */
  collides({ ip, port, protocol }: HostPort): boolean {
    const addresses = this.#addresses.get(`${port}/${protocol}`) ?? new Set();
    return [...addresses].some((other) => addressesCollide(ip, other));
  }
}
