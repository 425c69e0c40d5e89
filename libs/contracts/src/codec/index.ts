import { classCatalog, unavailableOffering } from './catalog.js';
import { decision } from './decision.js';
import { entry } from './entry.js';
import { blobManifest, pendingBatch, plan, planMessage, plannerAnswer, planReply, planRequest } from './plan.js';
import { stateRecord } from './state.js';
import { wire } from './wire.js';

export { EncodeError, type Entry } from './entry.js';
export type { BlobManifest, PlannerAnswer } from './plan.js';

// Every message of `proto/dovetail/v1` that travels on its own. `encodeX` throws EncodeError when the value cannot be carried;
// `decodeX` never throws: it says which field was wrong with what value.
export const { encode: encodeStateRecord, decode: decodeStateRecord } = entry('StateRecord', wire.StateRecord, stateRecord);
export const { encode: encodePendingBatch, decode: decodePendingBatch } = entry('PendingBatch', wire.PendingBatch, pendingBatch);
export const { encode: encodePlanMessage, decode: decodePlanMessage } = entry('PlanMessage', wire.PlanMessage, planMessage);
export const { encode: encodePlan, decode: decodePlan } = entry('Plan', wire.Plan, plan);
export const { encode: encodeClassCatalog, decode: decodeClassCatalog } = entry('ClassCatalog', wire.ClassCatalog, classCatalog);
export const { encode: encodeUnavailableOffering, decode: decodeUnavailableOffering } = entry('UnavailableOffering', wire.UnavailableOffering, unavailableOffering);
export const { encode: encodePlanRequest, decode: decodePlanRequest } = entry('PlanRequest', wire.PlanRequest, planRequest);
export const { encode: encodePlanReply, decode: decodePlanReply } = entry('PlanReply', wire.PlanReply, planReply);
export const { encode: encodePlannerAnswer, decode: decodePlannerAnswer } = entry('PlannerAnswer', wire.PlannerAnswer, plannerAnswer);
export const { encode: encodeDecision, decode: decodeDecision } = entry('Decision', wire.Decision, decision);
export const { encode: encodeBlobManifest, decode: decodeBlobManifest } = entry('BlobManifest', wire.BlobManifest, blobManifest);
