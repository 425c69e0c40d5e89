import { classCatalog, unavailableOffering } from './catalog.js';
import { decision } from './decision.js';
import { entry } from './entry.js';
import { pendingBatch, plan, planMessage } from './plan.js';
import { blobManifest, plannerAnswer, planReply, planRequest } from './planner.js';
import { planRecord, recordPart } from './record.js';
import { stateRecord } from './state.js';
import { wire } from './wire.js';

export { EncodeError, type Entry } from './entry.js';
export type { BlobManifest, PlannerAnswer } from './planner.js';

// Every message of `proto/dovetail/v1` that travels on its own. `encodeX` throws EncodeError for a
// value that the message cannot carry. `decodeX` never throws: it names the wrong field and its
// value.
/** One object of the state feed, or its tombstone. */
export const { encode: encodeStateRecord, decode: decodeStateRecord } = entry(
  'StateRecord',
  wire.StateRecord,
  stateRecord,
);
/** A group's pending pods, from pod-watcher to the solvers. */
export const { encode: encodePendingBatch, decode: decodePendingBatch } = entry(
  'PendingBatch',
  wire.PendingBatch,
  pendingBatch,
);
/** A plan, from a solver to the launcher. */
export const { encode: encodePlanMessage, decode: decodePlanMessage } = entry(
  'PlanMessage',
  wire.PlanMessage,
  planMessage,
);
/** A plan alone, for golden bytes and tools. */
export const { encode: encodePlan, decode: decodePlan } = entry('Plan', wire.Plan, plan);
/** One part of a class's catalog, from the launcher. */
export const { encode: encodeClassCatalog, decode: decodeClassCatalog } = entry(
  'ClassCatalog',
  wire.ClassCatalog,
  classCatalog,
);
/** An offering to avoid, from the launcher or the reaper. */
export const { encode: encodeUnavailableOffering, decode: decodeUnavailableOffering } = entry(
  'UnavailableOffering',
  wire.UnavailableOffering,
  unavailableOffering,
);
/** A what-if request, a search or a question for the gap, from the reaper to a solver. */
export const { encode: encodePlanRequest, decode: decodePlanRequest } = entry(
  'PlanRequest',
  wire.PlanRequest,
  planRequest,
);
/** The plan that answers a what-if request. */
export const { encode: encodePlanReply, decode: decodePlanReply } = entry(
  'PlanReply',
  wire.PlanReply,
  planReply,
);
/** A solver's whole answer: reply, refusal, manifest, the result of a search, or the gap. */
export const { encode: encodePlannerAnswer, decode: decodePlannerAnswer } = entry(
  'PlannerAnswer',
  wire.PlannerAnswer,
  plannerAnswer,
);
/** The record of a plan, from the solver that made it to those who make it again. */
export const { encode: encodePlanRecord, decode: decodePlanRecord } = entry(
  'PlanRecord',
  wire.PlanRecord,
  planRecord,
);
/** A piece of the input of plans. */
export const { encode: encodeRecordPart, decode: decodeRecordPart } = entry(
  'RecordPart',
  wire.RecordPart,
  recordPart,
);
/** A decision, from any service to anyone. */
export const { encode: encodeDecision, decode: decodeDecision } = entry(
  'Decision',
  wire.Decision,
  decision,
);
/** The manifest that stands for a message in parts. */
export const { encode: encodeBlobManifest, decode: decodeBlobManifest } = entry(
  'BlobManifest',
  wire.BlobManifest,
  blobManifest,
);
