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

const disruptionSpec = (): Schema =>
  fields(
    {
      'cause!': described('Why the nodes go.', words('underutilized')),
      'nodesOut!': described(
        'The nodes that go together.',
        atomicListOf(nodeOut(), { minItems: 2, maxItems: 100 }),
      ),
      planID: name('The plan by which a node is bought for their pods; absent: none is.'),
      savingPerHour: name('The dollars an hour that are saved.'),
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
  });

/** Disruption, dovetail.sh/v1alpha1. */
export const disruption = (): Schema =>
  definition({
    group: 'dovetail.sh',
    version: 'v1alpha1',
    kind: 'Disruption',
    plural: 'disruptions',
    description:
      'A command of several nodes: they end together, or all of them stay. The reaper writes it. To take back a command that is not Ending yet, delete it.',
    columns: [
      column('Phase', '.status.phase'),
      column('Saving', '.spec.savingPerHour'),
      age(),
      column('Plan', '.spec.planID', 'string', 1),
    ],
    spec: disruptionSpec(),
    status: disruptionStatus(),
  });
