import type { Decision } from '@dovetail/contracts';

/** A decision that tells of a launch, with this ID. */
export const launchDecision = (id: string): Decision => ({
  id,
  kind: 'launch',
  atMs: 1_700_000_000_000,
  source: 'launcher',
  pool: { kind: 'NodePool', name: 'default' },
  summary: `launched ${id}`,
  objects: [],
  reasons: [],
  alternatives: [],
  priceMicrosPerHour: 96_000,
  instanceType: 'm5.large',
  facts: {},
});
