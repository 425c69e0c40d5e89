import { Fleet, type FleetNode, fleetObjectOf } from '@dovetail/core-fleet';
import { countText, type Fill, shareOf, sumOfFills } from '@dovetail/core-fleet/words';
import { type KubeApi, kubeResources } from '@dovetail/core-ports';

/** The characters of a bar. */
const barLength = 10;

function bar(fill: Fill): string {
  const share = shareOf(fill);
  const full = Math.min(barLength, Math.round(share * barLength));
  return `${'█'.repeat(full)}${'░'.repeat(barLength - full)} ${String(Math.round(share * 100)).padStart(3)} %`;
}

const dollars = (micros: number): string => `$${(micros / 1e6).toFixed(4)}/h`;

/** A node in a line, as wide as the others. */
const lineOf = ({ instanceType, zone, capacityType, ...node }: FleetNode): string =>
  `  ${instanceType.padEnd(14)} ${zone.padEnd(12)} ${capacityType.padEnd(10)} CPU ${bar(node.cpu)}  memory ${bar(node.memory)}  ${countText(node.pods, 'pod').padStart(8)}  ${dollars(node.priceMicrosPerHour ?? 0)}`;

/** The nodes of a cluster in words, as the console draws them: a line for all, and one for each. */
export function pictureOf(nodes: readonly FleetNode[]): string {
  const cost = nodes.reduce((sum, { priceMicrosPerHour = 0 }) => sum + priceMicrosPerHour, 0);
  const share = (fills: readonly Fill[]): string =>
    `${String(Math.round(shareOf(sumOfFills(fills)) * 100))} %`;
  const head = `${countText(nodes.length, 'node')} · ${dollars(cost)} · CPU ${share(nodes.map(({ cpu }) => cpu))} · memory ${share(nodes.map(({ memory }) => memory))}`;
  return [head, ...nodes.map(lineOf).sort()].join('\n');
}

/** Reads the nodes of a cluster, and draws them in words. */
export async function readPicture(kube: KubeApi): Promise<string> {
  const fleet = new Fleet();
  const kinds = { claim: 'nodeClaims', node: 'nodes', pool: 'nodePools', pod: 'pods' } as const;
  for (const kind of ['claim', 'node', 'pool', 'pod'] as const)
    for (const object of await kube.list(kubeResources[kinds[kind]])) {
      const known = fleetObjectOf[kind](object);
      if (known !== undefined) fleet.set(known);
    }
  return pictureOf(fleet.nodes());
}
