import type { GapReply, PlanRequest, SearchReply } from '../planner-messages.js';

/** A what-if that lets two nodes take pods. */
export const sampleOpenRequest: PlanRequest = {
  podUids: ['a'],
  withoutNodes: ['n'],
  openNodes: ['n3', 'n4'],
  budgetMs: 200,
};

export const sampleSearchRequest: PlanRequest = {
  podUids: [],
  withoutNodes: [],
  budgetMs: 30_000,
  search: {
    claimUids: ['cu', 'cu2'],
    spotToSpot: true,
    savingMinMicrosPerHour: 1_000,
    savingMinPpm: 20_000,
    moveCostMicrosPerHour: 1_000,
  },
};

export const sampleFound: SearchReply = {
  commands: [
    { claimUids: ['cu', 'cu2'], openNodes: ['n3'], nodesIn: 2, savedMicrosPerHour: 96_000 },
  ],
  complete: true,
  tries: 7,
};

export const sampleGapRequest: PlanRequest = {
  podUids: [],
  withoutNodes: [],
  budgetMs: 5_000,
  gap: true,
};

export const sampleGap: GapReply = {
  nodes: 12,
  priceMicrosPerHour: 1_920_000,
  nodesWithoutPrice: 1,
  pods: 120,
  planNodes: 11,
  planPriceMicrosPerHour: 1_850_000,
  bound: { kind: 'assignment-lp', priceMicrosPerHour: 1_810_000 },
  podsUnplaced: 2,
  statePosition: { incarnation: 'one', sequence: 345 },
  solveMs: 210,
  priceEstimated: true,
};
