/**
 * Golden bytes: what an earlier build wrote, and what it meant. `npx tsx
 * --conditions=@dovetail/source libs/contracts/src/testing/golden.ts v2` writes a new folder from
 * the samples; a folder that exists is never written again.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { compareText } from '@dovetail/core-kube-model';

import * as codec from '../codec/index.js';
import type { Decoded } from '../messages.js';
import * as searches from './sample-searches.js';
import * as samples from './samples.js';

const goldenRoot = join(import.meta.dirname, '..', '..', '..', '..', 'tests', 'golden');

/** The reader of each golden file, by the part of its name before the dash. */
export const goldenReaders: Readonly<Record<string, (bytes: Uint8Array) => Decoded<unknown>>> = {
  state: codec.decodeStateRecord,
  batch: codec.decodePendingBatch,
  plan: codec.decodePlanMessage,
  catalog: codec.decodeClassCatalog,
  unavailable: codec.decodeUnavailableOffering,
  request: codec.decodePlanRequest,
  answer: codec.decodePlannerAnswer,
  decision: codec.decodeDecision,
  blob: codec.decodeBlobManifest,
  record: codec.decodePlanRecord,
  part: codec.decodeRecordPart,
};

const bytesOfSamples = (): readonly (readonly [string, Uint8Array])[] => [
  ...samples.sampleRecords.map(
    (record) =>
      [
        `state-${record.kind === 'gone' ? 'gone' : record.state.kind}`,
        codec.encodeStateRecord(record),
      ] as const,
  ),
  ['batch-full', codec.encodePendingBatch(samples.sampleBatch)],
  ['plan-pending', codec.encodePlanMessage(samples.samplePlanMessage)],
  ['plan-replacement', codec.encodePlanMessage(samples.sampleReplacement)],
  ['plan-joint-replacement', codec.encodePlanMessage(samples.sampleJointReplacement)],
  ['plan-command', codec.encodePlanMessage(samples.sampleCommandPlan)],
  ['catalog-class', codec.encodeClassCatalog(samples.sampleCatalog)],
  ['unavailable-full', codec.encodeUnavailableOffering(samples.sampleUnavailable)],
  ['request-commit', codec.encodePlanRequest(samples.sampleRequest)],
  ['request-joint-commit', codec.encodePlanRequest(samples.sampleJointRequest)],
  ['request-open-nodes', codec.encodePlanRequest(searches.sampleOpenRequest)],
  ['request-search', codec.encodePlanRequest(searches.sampleSearchRequest)],
  ['request-gap', codec.encodePlanRequest(searches.sampleGapRequest)],
  ['answer-gap', codec.encodePlannerAnswer({ kind: 'gap', gap: searches.sampleGap })],
  ['answer-found', codec.encodePlannerAnswer({ kind: 'found', found: searches.sampleFound })],
  ['answer-reply', codec.encodePlannerAnswer({ kind: 'reply', reply: samples.sampleReply })],
  [
    'answer-refusal',
    codec.encodePlannerAnswer({
      kind: 'refusal',
      code: 'not-ready',
      message: 'the mirror is not complete yet',
    }),
  ],
  ['decision-full', codec.encodeDecision(samples.sampleDecision)],
  ['record-command', codec.encodePlanRecord(samples.samplePlanRecord)],
  ['part-full', codec.encodeRecordPart({ id: 'p', packed: new Uint8Array([1, 2]) })],
  ['blob-manifest', codec.encodeBlobManifest({ id: 'b', parts: 2, bytes: 600_000 })],
];

/** A value as JSON text, maps and sets included, keys ascending. */
export const meaning = (value: unknown): string => `${JSON.stringify(value, plain, 1)}\n`;
function plain(_key: string, value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries(value as Map<string, unknown>);
  if (value instanceof Set) return [...(value as Set<unknown>)];
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).sort(([left], [right]) => compareText(left, right)),
  );
}

/** Every golden file: which release, which message, its bytes and its meaning. */
export const goldenFiles = (): readonly {
  readonly release: string;
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly meaning: string;
}[] =>
  readdirSync(goldenRoot)
    .sort()
    .flatMap((release) =>
      readdirSync(join(goldenRoot, release))
        .filter((file) => file.endsWith('.hex'))
        .sort()
        .map((file) => ({
          release,
          name: file.slice(0, -4),
          bytes: Buffer.from(
            readFileSync(join(goldenRoot, release, file), 'utf8').replaceAll(/\s/g, ''),
            'hex',
          ),
          meaning: readFileSync(join(goldenRoot, release, `${file.slice(0, -4)}.json`), 'utf8'),
        })),
    );

function write(release: string): void {
  const folder = join(goldenRoot, release);
  if (existsSync(folder))
    throw new Error(`${folder} exists: golden bytes are never rewritten; name a new release`);
  mkdirSync(folder, { recursive: true });
  for (const [name, bytes] of bytesOfSamples()) {
    const decoded = goldenReaders[name.slice(0, name.indexOf('-'))]?.(bytes);
    if (decoded?.ok !== true) throw new Error(`${name} cannot be read back`);
    writeFileSync(
      join(folder, `${name}.hex`),
      `${Buffer.from(bytes)
        .toString('hex')
        .replace(/(.{128})/g, '$1\n')}\n`,
    );
    writeFileSync(join(folder, `${name}.json`), meaning(decoded.value));
  }
}

const [, program, release] = process.argv;
if (program === import.meta.filename && release !== undefined) write(release);
