import { at } from '@dovetail/core-invariant';
import { describe, expect, test } from 'vitest';

import { runningCluster } from '../testing/running.js';
import { afterCommand } from './after-command.js';
import { searchCommands } from './search.js';

const input = runningCluster([
  { cores: 4, pods: [1000] },
  { cores: 4, pods: [1000] },
]);
const { commands } = searchCommands(input, { triesMax: 10, shouldStop: () => false });
const command = at(commands, 0);
const pods = new Map(
  input.views.flatMap((view) => view.pods).map((pod) => [pod.uid, pod] as const),
);

describe('the cluster after a command', () => {
  test('has the node that was bought, with the pods that moved, closed to others', () => {
    const { nodes } = afterCommand(input.snapshot, command, pods);
    expect(nodes).toHaveLength(1);
    expect(at(nodes, 0)).toMatchObject({
      uid: `${command.name}-bin-0`,
      instanceType: 'm.2',
      cordoned: true,
      priceMicrosPerHour: 100_000,
      pods: [{ name: 'p1-0' }, { name: 'p2-0' }],
    });
  });

  test('has the pods that moved on the nodes that stay', () => {
    const to = { kind: 'node', nodeName: 'n2', nodeUid: 'uid-n2' } as const;
    const removal = {
      ...command,
      nodesOut: command.nodesOut.filter(({ nodeName }) => nodeName === 'n1'),
      nodesIn: [],
      moves: command.moves.filter(({ name }) => name === 'p1-0').map((move) => ({ ...move, to })),
    };
    const { nodes } = afterCommand(input.snapshot, removal, pods);
    expect(nodes.map(({ name }) => name)).toEqual(['n2']);
    expect(at(nodes, 0).pods.map(({ name, nodeName }) => `${name} ${String(nodeName)}`)).toEqual([
      'p2-0 n2',
      'p1-0 n2',
    ]);
  });
});
