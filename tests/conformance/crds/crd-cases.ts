import { claim, classRef, type CrdCase, type CrdUpdate, nodeClass, pool } from './crd-objects.js';
import { disruption, disruptionCases } from './disruption-cases.js';
import { legacyCases } from './legacy-cases.js';
import { nodeClassCases } from './node-class-cases.js';
import { nodeClaimCases, nodePoolCases } from './node-pool-cases.js';

/** Manifests for each of the six kinds, good and bad. */
export const crdCases: readonly CrdCase[] = [
  ...nodePoolCases,
  ...nodeClaimCases,
  ...nodeClassCases,
  ...legacyCases,
  ...disruptionCases,
];

/** Changes of existing objects. */
export const crdUpdates: readonly CrdUpdate[] = [
  {
    name: "a pool's class may be renamed",
    before: pool(),
    after: pool({ nodeClassRef: { ...classRef, name: 'other' } }),
  },
  {
    name: "a pool's class keeps its kind",
    before: pool(),
    after: pool({ nodeClassRef: { ...classRef, kind: 'Other' } }),
    refused: /kind is immutable/,
  },
  {
    name: "a pool's class keeps its group",
    before: pool(),
    after: pool({ nodeClassRef: { ...classRef, group: 'other' } }),
    refused: /group is immutable/,
  },
  {
    name: 'a pool does not become static',
    before: pool(),
    after: pool({}, { replicas: 1 }),
    refused: /Cannot transition/,
  },
  {
    name: 'a static pool scales',
    before: pool({}, { replicas: 1 }),
    after: pool({}, { replicas: 2 }),
  },
  {
    name: 'a claim never changes',
    before: claim(),
    after: claim({ expireAfter: '1h' }),
    refused: /immutable/,
  },
  {
    name: 'a command never changes',
    before: disruption(),
    after: disruption({ planID: 'another' }),
    refused: /immutable/,
  },
  {
    name: 'a class may go from role to profile',
    before: nodeClass(),
    after: nodeClass({ role: undefined, instanceProfile: 'p' }),
  },
];
