import { labels } from '@dovetail/core-api';
import { isRecord, type Raw } from '@dovetail/core-kube-model';

import type { Tell } from './draft.js';

/** The kinds that hold pods or a template of pods. */
export const workloadKinds: ReadonlySet<string> = new Set([
  'Pod',
  'Deployment',
  'ReplicaSet',
  'StatefulSet',
  'DaemonSet',
  'ReplicationController',
  'Job',
  'CronJob',
]);

/** Fields that hold the key of a label of nodes. */
const keyFields = new Set(['key', 'topologyKey']);

function renamed(value: unknown, path: string, tell: Tell): unknown {
  if (Array.isArray(value))
    return value.map((item: unknown, index) => renamed(item, `${path}[${index}]`, tell));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]): [string, unknown] => {
      const field = `${path}.${name}`;
      const isKey = keyFields.has(name) && inner === labels.provisioner;
      const isSelected = name === labels.provisioner && path.endsWith('.nodeSelector');
      if (isKey || isSelected) tell(field, `is ${labels.nodePool} now, the label of a NodePool`);
      if (isKey) return [name, labels.nodePool];
      return isSelected ? [labels.nodePool, inner] : [name, renamed(inner, field, tell)];
    }),
  );
}

/**
 * A workload whose pods ask for the label of a NodePool where they asked for that of a Provisioner,
 * in selectors of nodes, affinity and spread.
 */
export const workloadOf = (object: Raw, tell: Tell): Raw => ({
  ...object,
  spec: renamed(object['spec'], 'spec', tell),
});
