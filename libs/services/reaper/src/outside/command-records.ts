import {
  type CommandPhase,
  type CommandRecord,
  commandRecordObject,
  commandRecordOf,
  type CommandRecordParts,
} from '@dovetail/core-api';
import { KubeError, type KubeObject, kubeResources, type Log } from '@dovetail/core-ports';
import { changeLive } from '@dovetail/service-kit';

import type { ReaperDeps } from '../deps.js';

const resource = kubeResources.disruptions;

/** Whether the cluster has the definition of commands. */
export const servesCommandRecords = ({ kube }: Pick<ReaperDeps, 'kube'>): Promise<boolean> =>
  kube.serves(resource);

/** A command as its object says it. Undefined, and logged: it cannot be read. */
export function readRecord(log: Log, object: KubeObject): CommandRecord | undefined {
  const read = commandRecordOf(object);
  if (read.ok) return read.value;
  const { name } = object.metadata;
  const message = `Disruption ${name} cannot be read: ${read.field} is ${read.value}; ${read.remedy}`;
  log.warn('command-unreadable', message, { command: name });
  return undefined;
}

/**
 * The command of this name as the API server has it now. Undefined: there is none, or it cannot be
 * read.
 */
export async function readCommandRecord(
  { kube, log }: Pick<ReaperDeps, 'kube' | 'log'>,
  name: string,
): Promise<CommandRecord | undefined> {
  const object = await kube.get({ resource, name });
  return object === undefined ? undefined : readRecord(log, object);
}

/**
 * Writes a new command. Undefined: one of this name is under way already. One that is over gives
 * its name away, because the same command may become worthwhile again.
 */
export async function writeCommandRecord(
  deps: Pick<ReaperDeps, 'kube' | 'log'>,
  parts: CommandRecordParts,
): Promise<CommandRecord | undefined> {
  const { kube } = deps;
  const written = await createRecord(kube, parts);
  if (written !== 'exists') return written;
  const held = await readCommandRecord(deps, parts.name);
  if (held?.endedMs === undefined) return undefined;
  await deleteCommandRecord(kube, held);
  const again = await createRecord(kube, parts);
  return again === 'exists' ? undefined : again;
}

async function createRecord(
  kube: ReaperDeps['kube'],
  parts: CommandRecordParts,
): Promise<CommandRecord | undefined | 'exists'> {
  try {
    const read = commandRecordOf(await kube.create(resource, commandRecordObject(parts)));
    return read.ok ? read.value : undefined;
  } catch (error) {
    if (error instanceof KubeError && error.code === 'already-exists') return 'exists';
    throw error;
  }
}

/** Writes that a command is over: no node carries its name any more. */
export async function writeCommandEnd(
  kube: ReaperDeps['kube'],
  { name, uid }: CommandRecord,
  nowMs: number,
): Promise<void> {
  const endedAt = new Date(nowMs).toISOString();
  await changeLive(kube, { resource, name, uid }, () => ({ status: { endedAt } }), {
    subresource: 'status',
  });
}

/**
 * Writes how far a command is. Answers whether it stands then: false when the command was deleted,
 * and when another has decided meanwhile that its nodes end, or that they stay.
 */
export async function writeCommandPhase(
  kube: ReaperDeps['kube'],
  { name, uid }: CommandRecord,
  phase: CommandPhase,
  message?: string,
): Promise<boolean> {
  const told = message === undefined ? {} : { message };
  const written = await changeLive(
    kube,
    { resource, name, uid },
    (object) =>
      isDecided(object) || phaseOf(object) === phase ? undefined : { status: { phase, ...told } },
    { subresource: 'status' },
  );
  return written !== undefined && phaseOf(written) === phase;
}

const phaseOf = (object: KubeObject): unknown =>
  (object['status'] as { readonly phase?: unknown } | undefined)?.phase;

const lastPhases: readonly unknown[] = ['Ending', 'TakenBack'] satisfies readonly CommandPhase[];

/** Whether it is decided if the nodes end or stay: neither is taken back. */
const isDecided = (object: KubeObject): boolean => lastPhases.includes(phaseOf(object));

/** Deletes a command that no node carries any more. */
export const deleteCommandRecord = (
  kube: ReaperDeps['kube'],
  { name, uid }: CommandRecord,
): Promise<void> => kube.delete({ resource, name }, { uid });
