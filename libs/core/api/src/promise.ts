import { compareText, isRecord, type Resources } from '@dovetail/core-kube-model';

/**
 * The annotation `dovetail.sh/promise` on a NodeClaim or Node: the pods that its room is kept for.
 * The launcher writes it; launcher and reaper read it. It lasts until the pods are bound, the claim
 * ends, or `untilMs`.
 */
export type PromiseAnnotation = {
  readonly podUids: readonly string[];
  /** The admission that gave it last, as `epoch.number`. */
  readonly admission: string;
  /** Milliseconds since 1970; absent while its claim is not initialised. */
  readonly untilMs?: number;
  /** Room that is kept by amount, for pods that come back under other UIDs (replacements). */
  readonly reserved?: Resources;
  /**
   * The pods on replaced nodes whose successors that room is for. A pod's share ends once it needs
   * no other place: its successor takes that room as any other pod. Absent: all of it is kept until
   * the replaced node is gone.
   */
  readonly forPodUids?: readonly string[];
  /** A node that this claim or node replaces, with the first promise that named one. */
  readonly replaces?: { readonly nodeName: string; readonly nodeUid: string };
};

const textsOf = (values: readonly unknown[]): readonly string[] =>
  values.filter((value): value is string => typeof value === 'string');

/** JSON knows 1e400, which would keep room for ever. */
const isNumber = (value: unknown): value is number => Number.isFinite(value);

const resourcesOf = (value: unknown): Resources | undefined =>
  isRecord(value) && Object.values(value).every(isNumber) ? (value as Resources) : undefined;

/**
 * Reads the annotation. Undefined when it is absent or malformed: a malformed promise keeps no
 * room.
 */
export function parsePromise(text: string | undefined): PromiseAnnotation | undefined {
  const value = jsonOf(text);
  if (
    !isRecord(value) ||
    !Array.isArray(value['podUids']) ||
    typeof value['admission'] !== 'string'
  )
    return undefined;
  const forPods = value['forPodUids'];
  const reserved = resourcesOf(value['reserved']);
  const replaces = value['replaces'];
  const replaced =
    isRecord(replaces) &&
    typeof replaces['nodeName'] === 'string' &&
    typeof replaces['nodeUid'] === 'string'
      ? { nodeName: replaces['nodeName'], nodeUid: replaces['nodeUid'] }
      : undefined;
  return {
    podUids: textsOf(value['podUids']),
    admission: value['admission'],
    ...(isNumber(value['untilMs']) ? { untilMs: value['untilMs'] } : {}),
    ...(reserved === undefined ? {} : { reserved }),
    ...(Array.isArray(forPods) ? { forPodUids: textsOf(forPods) } : {}),
    ...(replaced === undefined ? {} : { replaces: replaced }),
  };
}

/**
 * Writes the annotation. Promises that are equal, whatever the order of their pods, give equal
 * text.
 */
export function renderPromise(promise: PromiseAnnotation): string {
  const { podUids, admission, untilMs, reserved, forPodUids, replaces } = promise;
  return JSON.stringify({
    podUids: podUids.toSorted(compareText),
    admission,
    untilMs,
    reserved,
    forPodUids: forPodUids?.toSorted(compareText),
    replaces,
  });
}

function jsonOf(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
