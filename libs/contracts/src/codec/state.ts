import {
  type PodPromise,
  type StateKind,
  stateKinds,
  type StateRecord,
  type StateValue,
  type Verdict,
} from '../messages.js';
import {
  at,
  type Codec,
  int,
  list,
  Malformed,
  message,
  name,
  oneOf,
  optional,
  text,
  type Wire,
} from './fields.js';
import { nodeClaim, nodeClass, pool } from './karpenter.js';
import {
  csiNode,
  daemonSet,
  disruptionBudget,
  namespace,
  node,
  persistentVolume,
  persistentVolumeClaim,
  pod,
  storageClass,
} from './kube.js';
import { admissionNumber, reason, resources } from './values.js';
import { wire as w } from './wire.js';

const S = w.StateKind;
const stateKind = oneOf<StateKind>({
  pod: S.STATE_KIND_POD,
  node: S.STATE_KIND_NODE,
  claim: S.STATE_KIND_CLAIM,
  pool: S.STATE_KIND_POOL,
  nodeclass: S.STATE_KIND_NODECLASS,
  daemonset: S.STATE_KIND_DAEMONSET,
  pdb: S.STATE_KIND_PDB,
  namespace: S.STATE_KIND_NAMESPACE,
  pv: S.STATE_KIND_PV,
  pvc: S.STATE_KIND_PVC,
  storageclass: S.STATE_KIND_STORAGECLASS,
  csinode: S.STATE_KIND_CSINODE,
  promise: S.STATE_KIND_PROMISE,
  verdict: S.STATE_KIND_VERDICT,
  admission: S.STATE_KIND_ADMISSION,
});
const promise = message<PodPromise>(
  {
    holderUid: name,
    holderName: name,
    podUids: list(name),
    admission: admissionNumber,
    untilMs: optional(int),
    reserved: resources,
    forPodUids: optional(list(name)),
    holderKind: oneOf<PodPromise['holderKind']>({
      NodeClaim: w.HolderKind.HOLDER_KIND_NODE_CLAIM,
      Node: w.HolderKind.HOLDER_KIND_NODE,
    }),
  },
  ['forPodUids'],
);
const verdict = message<Verdict>({
  podUid: name,
  planId: name,
  binId: text,
  admission: admissionNumber,
  reasons: list(reason),
  atMs: int,
  outcome: oneOf<Verdict['outcome']>({
    admitted: w.VerdictOutcome.VERDICT_OUTCOME_ADMITTED,
    refused: w.VerdictOutcome.VERDICT_OUTCOME_REFUSED,
    unplaced: w.VerdictOutcome.VERDICT_OUTCOME_UNPLACED,
  }),
});

const values: { readonly [K in StateKind]: Codec<Extract<StateValue, { kind: K }>['value']> } = {
  pod,
  node,
  claim: nodeClaim,
  pool,
  nodeclass: nodeClass,
  daemonset: daemonSet,
  pdb: disruptionBudget,
  namespace,
  pv: persistentVolume,
  pvc: persistentVolumeClaim,
  storageclass: storageClass,
  csinode: csiNode,
  promise,
  verdict,
  admission: admissionNumber,
};
const codecOf = (kind: StateKind): Codec<unknown> => values[kind];

const head = message<{ readonly uid: string; readonly generation: string }>({
  uid: name,
  generation: text,
});
const tombstone = message<{ readonly kind: StateKind }>({ kind: stateKind });

/** A record of the state feed: one object, or its tombstone. It must hold exactly one of them. */
export const stateRecord: Codec<StateRecord> = {
  write: (record) => {
    const start = head.write(record) as Wire;
    if (record.kind === 'gone')
      return { ...start, gone: tombstone.write({ kind: record.stateKind }) };
    const { kind, value } = record.state;
    return { ...start, [kind]: at(kind, () => codecOf(kind).write(value)) };
  },
  read: (from) => {
    const { uid, generation } = head.read(from);
    const set = from as Wire;
    const present = ['gone', ...stateKinds].filter((key) => Object.hasOwn(set, key));
    if (present.length > 1) throw new Malformed(`state is set twice: ${present.join(' and ')}`);
    const kind = present[0] as StateKind | 'gone' | undefined;
    if (kind === undefined) throw new Malformed('state is unset, or newer than this build');
    if (kind === 'gone')
      return {
        kind: 'gone',
        uid,
        generation,
        stateKind: at('gone', () => tombstone.read(set['gone'])).kind,
      };
    return {
      kind: 'set',
      uid,
      generation,
      state: { kind, value: at(kind, () => codecOf(kind).read(set[kind])) } as StateValue,
    };
  },
};
