import {
  classRef,
  duration,
  durationOrNever,
  nodeLabels,
  requirements,
  resourceList,
  taints,
} from './scheduling-fields.js';
import type { Schema } from './schema.js';
import {
  age,
  atomicListOf,
  column,
  conditions,
  definition,
  described,
  fields,
  int32,
  int64,
  listOf,
  mapOf,
  readyColumn,
  rules,
  text,
  words,
} from './schema.js';

const budget = (): Schema =>
  fields({
    'nodes!': described(
      'How many nodes may be disrupted at once: a count, or a percentage rounded up.',
      text({ pattern: '^((100|[0-9]{1,2})%|[0-9]+)$', default: '10%' }),
    ),
    reasons: described(
      'Which disruptions this budget limits; absent: all.',
      listOf(words('Underutilized', 'Empty', 'Drifted', 'Unhealthy'), {
        maxItems: 50,
        'x-kubernetes-list-type': 'set',
      }),
    ),
    schedule: described(
      'When the budget becomes active: cron in UTC, without a time zone.',
      text({
        pattern:
          '^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|\\s*[^\\s=]+(\\s+\\S+){4}\\s*)$',
      }),
    ),
    duration: described(
      'How long it stays active.',
      text({ pattern: '^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$' }),
    ),
  });

const disruption = (): Schema =>
  described(
    'When nodes may be taken away.',
    fields(
      {
        consolidationPolicy: described('Which nodes consolidation looks at.', {
          ...words('WhenEmpty', 'WhenEmptyOrUnderutilized', 'Balanced'),
          default: 'WhenEmptyOrUnderutilized',
        }),
        consolidateAfter: durationOrNever(
          'How long a node must have been quiet before it is consolidated.',
          '0s',
        ),
        budgets: described(
          'All active budgets hold together.',
          atomicListOf(budget(), {
            maxItems: 50,
            default: [{ nodes: '10%' }],
            ...rules([
              'self.all(x, has(x.schedule) == has(x.duration))',
              "'schedule' must be set with 'duration'",
            ]),
          }),
        ),
      },
      { default: { consolidateAfter: '0s' } },
    ),
  );

const template = (): Schema =>
  described(
    'The nodes of the pool.',
    fields({
      metadata: fields({
        labels: nodeLabels(),
        annotations: described('Annotations that the nodes carry.', mapOf(text())),
      }),
      'spec!': fields({
        taints: taints('Taints that the nodes keep.'),
        startupTaints: taints(
          'Taints that something removes while a node starts; pods need not tolerate them.',
        ),
        'requirements!': requirements({ poolKeys: 'refused' }),
        'nodeClassRef!': classRef({ immutable: 'group-and-kind' }),
        terminationGracePeriod: duration('How long a node may drain before its pods are deleted.'),
        expireAfter: durationOrNever('How long a node lives.', '720h'),
      }),
    }),
  );

const nodePoolSpec = (): Schema =>
  fields(
    {
      'template!': template(),
      disruption: disruption(),
      limits: resourceList(
        "The most that the pool's nodes may have together; `nodes` counts nodes.",
      ),
      weight: described(
        'Pools of greater weight are tried first.',
        int32({ minimum: 1, maximum: 100 }),
      ),
      replicas: described(
        'A fixed number of nodes, whatever the pods need.',
        int64({ minimum: 0 }),
      ),
    },
    rules(
      [
        'has(self.replicas) == has(oldSelf.replicas)',
        'Cannot transition NodePool between static (replicas set) and dynamic (replicas unset) provisioning modes',
      ],
      [
        "!has(self.replicas) || !has(self.limits) || self.limits.all(name, name == 'nodes')",
        "only 'limits.nodes' is supported on static NodePools",
      ],
      ['!has(self.replicas) || !has(self.weight)', "'weight' is not supported on static NodePools"],
    ),
  );

const nodePoolStatus = (): Schema =>
  fields({
    resources: resourceList("The resources of the pool's nodes together."),
    nodes: int64({ default: 0 }),
    nodeClassObservedGeneration: int64(),
    conditions: conditions(),
  });

/** NodePool, karpenter.sh/v1. */
export const nodePool = (): Schema =>
  definition({
    group: 'karpenter.sh',
    version: 'v1',
    kind: 'NodePool',
    plural: 'nodepools',
    description: 'The nodes that Dovetail may launch, and when it may take them away.',
    scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.nodes' },
    columns: [
      column('NodeClass', '.spec.template.spec.nodeClassRef.name'),
      column('Nodes', '.status.nodes', 'integer'),
      readyColumn(),
      age(),
      column('Weight', '.spec.weight', 'integer', 1),
      column('CPU', '.status.resources.cpu', 'string', 1),
      column('Memory', '.status.resources.memory', 'string', 1),
    ],
    spec: nodePoolSpec(),
    status: nodePoolStatus(),
  });

const nodeClaimSpec = (): Schema =>
  fields(
    {
      taints: taints('Taints that the node keeps.'),
      startupTaints: taints('Taints that something removes while the node starts.'),
      'requirements!': requirements({ poolKeys: 'allowed' }),
      resources: fields({ requests: resourceList('The least that the node must offer.') }),
      'nodeClassRef!': classRef({ immutable: 'by-owner' }),
      terminationGracePeriod: duration('How long the node may drain before its pods are deleted.'),
      expireAfter: durationOrNever('How long the node lives.', '720h'),
    },
    rules(['self == oldSelf', 'spec is immutable']),
  );

const nodeClaimStatus = (): Schema =>
  fields({
    nodeName: text(),
    providerID: text(),
    imageID: text(),
    capacity: resourceList('The capacity of the node.'),
    allocatable: resourceList('The part of the capacity that pods may use.'),
    lastPodEventTime: { type: 'string', format: 'date-time' },
    conditions: conditions(),
  });

/** NodeClaim, karpenter.sh/v1. */
export const nodeClaim = (): Schema =>
  definition({
    group: 'karpenter.sh',
    version: 'v1',
    kind: 'NodeClaim',
    plural: 'nodeclaims',
    description: 'One node: asked for, launched, and kept until its instance is gone.',
    columns: [
      column('Type', '.metadata.labels.node\\.kubernetes\\.io/instance-type'),
      column('Capacity', '.metadata.labels.karpenter\\.sh/capacity-type'),
      column('Zone', '.metadata.labels.topology\\.kubernetes\\.io/zone'),
      column('Node', '.status.nodeName'),
      readyColumn(),
      age(),
      column('ImageID', '.status.imageID', 'string', 1),
      column('ID', '.status.providerID', 'string', 1),
      column('NodePool', '.metadata.labels.karpenter\\.sh/nodepool', 'string', 1),
      column('NodeClass', '.spec.nodeClassRef.name', 'string', 1),
      column('Drifted', '.status.conditions[?(@.type=="Drifted")].status', 'string', 1),
    ],
    spec: nodeClaimSpec(),
    status: nodeClaimStatus(),
  });
