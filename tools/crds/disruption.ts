import type { Schema } from './schema.js';
import {
  age,
  atomicListOf,
  column,
  definition,
  described,
  fields,
  rules,
  text,
  time,
  words,
} from './schema.js';

const name = (description: string): Schema => described(description, text({ maxLength: 253 }));

const nodeOut = (): Schema =>
  fields({
    'nodeName!': name('The name of the node.'),
    'nodeUID!': name('The UID of the node.'),
    'claimName!': name('The name of its NodeClaim.'),
    'claimUID!': name('The UID of its NodeClaim.'),
  });

const nodeIn = (): Schema =>
  fields({
    'pool!': name('The pool of the node.'),
    options: described(
      'The cheapest types and zones that it may become.',
      atomicListOf(text({ maxLength: 253 }), { maxItems: 10 }),
    ),
    pricePerHour: name('The dollars an hour of the cheapest.'),
    maxPricePerHour: name('The most that the launched instance may cost, in dollars an hour.'),
  });

const move = (): Schema =>
  fields({
    'pod!': name('Namespace and name of the pod.'),
    'from!': name('The node that it leaves.'),
    'to!': name('The node that has room for it, or the number of a new one.'),
  });

const disruptionSpec = (): Schema =>
  fields(
    {
      'cause!': described('Why the nodes go.', words('underutilized')),
      'nodesOut!': described(
        'The nodes that go together.',
        atomicListOf(nodeOut(), { minItems: 1, maxItems: 100 }),
      ),
      planID: name('The plan by which nodes are bought for their pods; absent: none is.'),
      summary: described('The command in a sentence.', text({ maxLength: 32_768 })),
      nodesIn: described('The nodes that are bought.', atomicListOf(nodeIn(), { maxItems: 100 })),
      moves: described(
        'Where the pods go, the first thousand of them.',
        atomicListOf(move(), { maxItems: 1_000 }),
      ),
      pricePerHourBefore: name('The dollars an hour of the nodes that go.'),
      pricePerHourAfter: name('The dollars an hour of the nodes that are bought, at the least.'),
      savingPerHour: name('The dollars an hour that are saved.'),
      disruptionCost: name(
        'The cost of the disruption: 1 for each node, and the eviction costs of its pods.',
      ),
    },
    rules(['self == oldSelf', 'spec is immutable']),
  );

const disruptionStatus = (): Schema =>
  fields({
    phase: described(
      'How far the command is. Absent: not all of its nodes are tainted yet.',
      words('Tainted', 'Ending', 'TakenBack'),
    ),
    message: described('Why it is taken back.', text({ maxLength: 32_768 })),
    endedAt: described('When it was over. It is deleted an hour later.', time()),
  });

/** Disruption, dovetail.sh/v1alpha1. */
export const disruption = (): Schema =>
  definition({
    group: 'dovetail.sh',
    version: 'v1alpha1',
    kind: 'Disruption',
    plural: 'disruptions',
    description:
      'A command of consolidation: its nodes end together, or all of them stay. The reaper writes it. To take back a command that is not Ending yet, delete it.',
    columns: [
      column('Phase', '.status.phase'),
      column('Summary', '.spec.summary'),
      column('Saving', '.spec.savingPerHour'),
      age(),
      column('Plan', '.spec.planID', 'string', 1),
    ],
    spec: disruptionSpec(),
    status: disruptionStatus(),
  });
