import type { Parsed, Raw } from '@dovetail/core-kube-model';
import {
  Malformed,
  optional,
  parsed,
  readEach,
  readMeta,
  readObject,
  readOneOf,
  readRecord,
  readRequiredText,
  readText,
  readTimeMs,
} from '@dovetail/core-kube-model';

import { commandPhases, type CommandRecord, type RecordedNode } from '../command-record.js';

/** Karpenter gives up 100 nodes together at most. */
const nodesAllowed = { min: 1, max: 100 };

/** Reads a Disruption of dovetail.sh/v1alpha1. */
export function commandRecordOf(raw: unknown): Parsed<CommandRecord> {
  return parsed((): CommandRecord => {
    const object = readObject(raw);
    const { uid, name, deletionMs } = readMeta(object);
    const spec = readRecord(object['spec'], 'spec');
    const status = readRecord(object['status'], 'status');
    readOneOf(spec['cause'], 'spec.cause', ['underutilized']);
    const nodesOut = readEach(spec['nodesOut'], 'spec.nodesOut', readNode);
    if (nodesOut.length < nodesAllowed.min || nodesOut.length > nodesAllowed.max)
      throw new Malformed('spec.nodesOut', nodesOut.length, 'name from 1 to 100 nodes');
    const phase = status['phase'] ?? undefined;
    return {
      uid,
      name,
      ...optional('deletionMs', deletionMs),
      nodesOut,
      ...optional('planId', readText(spec['planID'], 'spec.planID')),
      ...(phase === undefined ? {} : { phase: readOneOf(phase, 'status.phase', commandPhases) }),
      ...optional('message', readText(status['message'], 'status.message')),
      ...optional('endedMs', readTimeMs(status['endedAt'], 'status.endedAt')),
    };
  });
}

const readNode = (node: Raw, path: string): RecordedNode => ({
  nodeName: readRequiredText(node['nodeName'], `${path}.nodeName`),
  nodeUid: readRequiredText(node['nodeUID'], `${path}.nodeUID`),
  claimName: readRequiredText(node['claimName'], `${path}.claimName`),
  claimUid: readRequiredText(node['claimUID'], `${path}.claimUID`),
});
