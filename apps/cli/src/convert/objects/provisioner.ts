import { labels, type Pool, sizesOf } from '@dovetail/core-api';
import { lookUp } from '@dovetail/core-invariant';
import { isRecord, type Raw, recordOf } from '@dovetail/core-kube-model';

import { isPresent, movedMetadata, only, type Tell, tellUnknown, without } from './draft.js';

const known = [
  'annotations',
  'labels',
  'requirements',
  'taints',
  'startupTaints',
  'providerRef',
  'provider',
  'kubeletConfiguration',
  'limits',
  'consolidation',
  'ttlSecondsAfterEmpty',
  'ttlSecondsUntilExpired',
  'weight',
];

/** Annotations that older versions had for the one of today. */
const notDisrupted = ['karpenter.sh/do-not-consolidate', 'karpenter.sh/do-not-evict'];
const doNotDisrupt = 'karpenter.sh/do-not-disrupt';

function nodeAnnotations(raw: unknown, tell: Tell): Raw {
  const given = recordOf(raw);
  const old = notDisrupted.filter((name) => isPresent(lookUp(given, name)));
  for (const name of old) tell(`spec.annotations[${name}]`, `is ${doNotDisrupt} now`);
  const [first] = old;
  const rest = without(given, ...old);
  return first === undefined ? rest : { [doNotDisrupt]: lookUp(given, first), ...rest };
}

const shown = ({ key, operator, values }: Raw): string =>
  `${String(key)} ${String(operator)} ${(values as readonly string[]).join(', ')}`;

/** The requirements, with those that the webhooks of a Provisioner wrote into it. */
function requirementsOf(spec: Raw, pool: Pool, tell: Tell): readonly unknown[] {
  const given: readonly unknown[] = Array.isArray(spec['requirements']) ? spec['requirements'] : [];
  const implied = pool.requirements.slice(given.length);
  for (const one of implied)
    tell('spec.requirements', `${shown(one)}: what a Provisioner meant without saying so`);
  const sizes = sizesOf(pool);
  if (sizes !== undefined)
    tell(
      'spec.requirements',
      'names no types, so nodes of every type are planned now, which costs less; for nodes of the ' +
        `sizes that Karpenter's last webhooks had, add ${sizes.map(shown).join(', and ')}`,
    );
  return [...given, ...implied];
}

/** The rules for ending nodes. A Provisioner has no budgets, and never ends drifted nodes. */
function disruptionOf(spec: Raw, pool: Pool, tell: Tell): Raw {
  const { policy, consolidateAfterMs } = pool.disruption;
  const after = consolidateAfterMs === undefined ? 'Never' : `${consolidateAfterMs / 1000}s`;
  const said = ['consolidation', 'ttlSecondsAfterEmpty'].find((name) =>
    isPresent(lookUp(spec, name)),
  );
  tell(
    `spec.${said ?? 'ttlSecondsAfterEmpty'}`,
    `${said === undefined ? 'was absent: ' : ''}consolidationPolicy ${policy}, consolidateAfter ${after}`,
  );
  tell(
    'spec.disruption.budgets',
    'new: all nodes at once, and none for drift, as a Provisioner had it; without them, a tenth',
  );
  return {
    consolidationPolicy: policy,
    consolidateAfter: after,
    budgets: [{ nodes: '100%' }, { nodes: '0', reasons: ['Drifted'] }],
  };
}

function templateOf(spec: Raw, pool: Pool, className: string, tell: Tell): Raw {
  const metadata = {
    ...only(spec, 'labels'),
    ...(isRecord(spec['annotations'])
      ? { annotations: nodeAnnotations(spec['annotations'], tell) }
      : {}),
  };
  const { expireAfterMs } = pool;
  const expireAfter = expireAfterMs === undefined ? 'Never' : `${expireAfterMs / 1000}s`;
  tell(
    'spec.ttlSecondsUntilExpired',
    expireAfterMs === undefined
      ? 'was absent: expireAfter Never; the default of v1 is 720h'
      : `is expireAfter ${expireAfter} of the template now`,
  );
  return {
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    spec: {
      nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: className },
      requirements: requirementsOf(spec, pool, tell),
      ...only(spec, 'taints', 'startupTaints'),
      expireAfter,
    },
  };
}

/** The NodePool for a Provisioner that `provisionerOf` has read. */
export function poolOfProvisioner(object: Raw, pool: Pool, className: string, tell: Tell): Raw {
  const spec = recordOf(object['spec']);
  tell('kind', `${labels.provisioner} on nodes and in selectors of pods is ${labels.nodePool} now`);
  if (isPresent(object['status'])) tell('status', 'left out: the new object gets its own');
  tellUnknown(spec, known, 'spec', tell);
  tell(
    isPresent(spec['provider']) ? 'spec.provider' : 'spec.providerRef',
    `is nodeClassRef now, EC2NodeClass ${className}`,
  );
  const limits = recordOf(spec['limits']);
  tellUnknown(limits, ['resources'], 'spec.limits', tell);
  if (isPresent(limits['resources'])) tell('spec.limits.resources', 'is spec.limits now');
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: movedMetadata(object['metadata'], tell),
    spec: {
      template: templateOf(spec, pool, className, tell),
      disruption: disruptionOf(spec, pool, tell),
      ...(isPresent(limits['resources']) ? { limits: limits['resources'] } : {}),
      ...only(spec, 'weight'),
    },
  };
}
