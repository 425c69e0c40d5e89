import type {
  FoundCommand,
  GapReply,
  PlanReply,
  PlanRequest,
  SearchReply,
  SearchRequest,
} from '../planner-messages.js';
import {
  type Codec,
  flag,
  int,
  list,
  Malformed,
  message,
  name,
  optional,
  text,
  uint,
  type Wire,
  within,
} from './fields.js';
import { bound, plan, replacement } from './plan.js';
import { streamPosition } from './values.js';

const searchRequest = message<SearchRequest>({
  claimUids: list(name),
  spotToSpot: flag,
  savingMinMicrosPerHour: int,
  savingMinPpm: int,
  moveCostMicrosPerHour: int,
});
/** A request to plan without a batch. */
export const planRequest = message<PlanRequest>({
  podUids: list(name),
  withoutNodes: list(name),
  commit: optional(replacement),
  maxPriceMicrosPerHour: optional(int),
  budgetMs: int,
  openNodes: optional(within('items', list(name))),
  search: optional(searchRequest),
  isRecorded: optional(flag),
  gap: optional(flag),
});
/** The plan that answers a request. */
export const planReply = message<PlanReply>({ planId: name, plan, statePosition: streamPosition });
const foundCommand = message<FoundCommand>({
  claimUids: list(name),
  openNodes: list(name),
  nodesIn: uint,
  savedMicrosPerHour: int,
});
const searchReply = message<SearchReply>({
  commands: list(foundCommand),
  complete: flag,
  tries: int,
});

const gapReply = message<GapReply>({
  nodes: uint,
  priceMicrosPerHour: int,
  nodesWithoutPrice: uint,
  pods: uint,
  planNodes: uint,
  planPriceMicrosPerHour: int,
  bound,
  podsUnplaced: uint,
  statePosition: streamPosition,
  solveMs: int,
  priceEstimated: flag,
});

/** The place of a message that is too large to be sent whole. */
export type BlobManifest = { readonly id: string; readonly parts: number; readonly bytes: number };
/** The manifest of a message that travels in parts. */
export const blobManifest = message<BlobManifest>({ id: name, parts: uint, bytes: int });

/**
 * A solver's answer on the wire: the reply, a refusal with a code, the place of a large reply, the
 * result of a search, or the price beside that of a plan from nothing.
 */
export type PlannerAnswer =
  | { readonly kind: 'reply'; readonly reply: PlanReply }
  | { readonly kind: 'refusal'; readonly code: string; readonly message: string }
  | { readonly kind: 'blob'; readonly blob: BlobManifest }
  | { readonly kind: 'found'; readonly found: SearchReply }
  | { readonly kind: 'gap'; readonly gap: GapReply };
const refusal = message<{ readonly code: string; readonly message: string }>({
  code: name,
  message: text,
});
/** A solver's answer: a reply, a refusal, the manifest of a large reply, or another result. */
export const plannerAnswer: Codec<PlannerAnswer> = {
  write: (value) => {
    switch (value.kind) {
      case 'reply':
        return { reply: planReply.write(value.reply) };
      case 'refusal':
        return { refusal: refusal.write(value) };
      case 'blob':
        return { blob: blobManifest.write(value.blob) };
      case 'found':
        return { found: searchReply.write(value.found) };
      case 'gap':
        return { gap: gapReply.write(value.gap) };
    }
  },
  read: (from) => {
    const set = from as Wire;
    if (Object.hasOwn(set, 'reply')) return { kind: 'reply', reply: planReply.read(set['reply']) };
    if (Object.hasOwn(set, 'refusal')) return { kind: 'refusal', ...refusal.read(set['refusal']) };
    if (Object.hasOwn(set, 'blob')) return { kind: 'blob', blob: blobManifest.read(set['blob']) };
    if (Object.hasOwn(set, 'found'))
      return { kind: 'found', found: searchReply.read(set['found']) };
    if (Object.hasOwn(set, 'gap')) return { kind: 'gap', gap: gapReply.read(set['gap']) };
    throw new Malformed(
      'outcome is unset, or newer than this build (known: reply, refusal, blob, found, gap)',
    );
  },
};
