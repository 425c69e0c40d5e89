import type { PlanRequest, SearchReply } from '../messages.js';

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
