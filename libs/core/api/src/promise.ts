import type { Resources } from '@dovetail/core-kube-model';

/**
 * The annotation `dovetail.sh/promise` on a NodeClaim or Node: which pods its room is kept for. The launcher writes it, the
 * launcher and the reaper read it. On a claim it lasts until the pods are bound, the claim ends, or `untilMs`.
 */
export type PromiseAnnotation = {
  readonly podUids: readonly string[];
  /** `epoch.number` of the admission that gave it last. */
  readonly admission: string;
  /** Milliseconds since 1970; absent while its claim is not initialised. */
  readonly untilMs?: number;
  /** Room that is kept by amount instead of by pod, for pods that come back as others (replacements). */
  readonly reserved?: Resources;
  /** The node that this claim replaces, so that whoever retires it knows its replacement. */
  readonly replaces?: { readonly nodeName: string; readonly nodeUid: string };
};

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null && !Array.isArray(value);
const resourcesOf = (value: unknown): Resources | undefined =>
  isRecord(value) && Object.values(value).every((amount) => typeof amount === 'number') ? (value as Resources) : undefined;

/** Undefined when the annotation is absent or is not what the launcher writes: a broken promise binds nobody. */
export function parsePromise(text: string | undefined): PromiseAnnotation | undefined {
  const value = jsonOf(text);
  if (!isRecord(value) || !Array.isArray(value['podUids']) || typeof value['admission'] !== 'string') return undefined;
  const podUids = value['podUids'].filter((uid): uid is string => typeof uid === 'string');
  const reserved = resourcesOf(value['reserved']);
  const replaces = value['replaces'];
  const replaced = isRecord(replaces) && typeof replaces['nodeName'] === 'string' && typeof replaces['nodeUid'] === 'string'
    ? { nodeName: replaces['nodeName'], nodeUid: replaces['nodeUid'] } : undefined;
  return {
    podUids, admission: value['admission'],
    ...(typeof value['untilMs'] === 'number' ? { untilMs: value['untilMs'] } : {}),
    ...(reserved === undefined ? {} : { reserved }),
    ...(replaced === undefined ? {} : { replaces: replaced }),
  };
}

/** The annotation's text; equal promises give equal text. */
export function renderPromise(promise: PromiseAnnotation): string {
  const { podUids, admission, untilMs, reserved, replaces } = promise;
  return JSON.stringify({ podUids: [...podUids].sort(), admission, untilMs, reserved, replaces });
}

function jsonOf(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try { return JSON.parse(text); } catch { return undefined; }
}
