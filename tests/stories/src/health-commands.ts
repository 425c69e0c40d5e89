import { kubeResources } from '@dovetail/core-ports';

import type { Command } from './command.js';
import type { StoryStage } from './story-stage.js';

const { nodes } = kubeResources;

type Condition = { readonly type: string; readonly status: string };

/** Conditions that EKS' node monitoring agent reports, and the kubelet does not. */
export const agentConditions = [
  'StorageReady',
  'NetworkingReady',
  'KernelReady',
  'ContainerRuntimeReady',
] as const;

/** Writes a condition of a node beside those of its kubelet, as an agent on it does. */
async function setCondition(stage: StoryStage, name: string, condition: Condition): Promise<void> {
  const node = await stage.kube.get({ resource: nodes, name });
  if (node === undefined) throw new Error(`NotFound: node ${name}`);
  const { conditions: held = [] } = (node['status'] ?? {}) as {
    readonly conditions?: readonly Condition[];
  };
  const lastTransitionTime = new Date(stage.clock.nowMs()).toISOString();
  const others = held.filter(({ type }) => type !== condition.type);
  const body = { status: { conditions: [...others, { ...condition, lastTransitionTime }] } };
  await stage.kube.patch(
    { resource: nodes, name },
    { type: 'merge', body },
    { subresource: 'status' },
  );
}

/** Machines and nodes that break, and are whole again. */
export const healthCommands: readonly Command[] = [
  {
    pattern: /^repair is on$/,
    run: (stage) => void (stage.settings = { ...stage.settings, nodeRepair: true }),
  },
  {
    pattern: /^(?<type>[A-Z]\S+) of (?<name>\S+) is (?<status>True|False)$/,
    run: (stage, { type = '', name = '', status = '' }) =>
      setCondition(stage, stage.narrator.names.actual(name), { type, status }),
  },
  {
    pattern: /^checks of (?<name>\S+) (?<what>fail|pass)$/,
    run: (stage, { name = '', what }) =>
      stage.twin.setHealth(stage.narrator.names.actual(name), {
        instance: what === 'fail' ? 'impaired' : 'ok',
      }),
  },
];

/** Everything that broke is whole again. */
export async function heal(stage: StoryStage): Promise<void> {
  for (const id of stage.runningInstances()) stage.twin.setHealth(id, { instance: 'ok' });
  for (const { metadata, ...node } of stage.list(nodes)) {
    const { conditions = [] } = (node['status'] ?? {}) as {
      readonly conditions?: readonly Condition[];
    };
    for (const { type, status } of conditions)
      if (status === 'False' && agentConditions.some((each) => each === type))
        await setCondition(stage, metadata.name, { type, status: 'True' });
  }
}
