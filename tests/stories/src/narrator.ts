import { type Decision, followDecisions } from '@dovetail/contracts';
import type { KubeObject } from '@dovetail/core-ports';
import type { Stage } from '@dovetail/sim-stage';

import { Names, shortList } from './names.js';

type Happening = {
  readonly atMs: number;
  readonly word: string;
  /** Merged with the line before, if word, rest and second are equal. */
  readonly subjects: readonly string[];
  readonly rest: string;
};
type Pod = KubeObject & {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly phase?: string };
};

/** Events that belong in a story. The others repeat decisions. */
const eventReasons = [
  'DisruptionBlocked',
  'FailedDraining',
  'FailedScheduling',
  'InsufficientCapacityError',
  'LaunchTimeout',
  'NodeClassNotFound',
  'SpotInterrupted',
  'TerminationGracePeriodExpiring',
];
/** Decisions whose reasons are out of the ordinary. */
const reasonedDecisions: readonly string[] = [
  'refuse',
  'launch-failed',
  'unschedulable',
  'command',
  'disrupt',
  'interrupt',
  'collect',
];

/** Records the changes on a stage, one line each, in order, with stable names. */
export class Narrator {
  readonly names = new Names();
  readonly #stage: Stage;
  #happenings: Happening[] = [];
  readonly #told = new Set<string>();
  readonly #leaders = new Map<string, string>();

  constructor(stage: Stage) {
    this.#stage = stage;
    stage.store.subscribe(({ table, kind, object, before }) => {
      const change = { gone: kind === 'deleted', object, before };
      if (table === 'pods') this.#pod(change);
      else if (table === 'nodes') this.#node(change);
      else if (table === 'nodeclaims.karpenter.sh') this.#claim(change);
      else if (table === 'disruptions.dovetail.sh') this.#command(change);
      else if (table.startsWith('events') && kind !== 'deleted') this.#event(object);
      else if (table === 'leases.coordination.k8s.io' && kind !== 'deleted') this.#lease(object);
    });
    stage.twin.subscribe(({ kind, machine }) => {
      const name = this.names.add('i', machine.instanceId);
      if (kind === 'ended') this.#tell('ended', [name], machine.instanceType);
    });
    void this.#followDecisions();
  }

  /** A process of this name has died. */
  died(replica: string): void {
    this.#tell('dies', [replica]);
  }

  /** The lines since the last call. */
  take(): readonly string[] {
    const lines: string[] = [];
    let last: Happening | undefined;
    for (const each of this.#happenings) {
      if (last !== undefined && isSame(last, each)) {
        last = { ...last, subjects: [...last.subjects, ...each.subjects] };
        lines.pop();
      } else last = each;
      lines.push(this.#lineOf(last));
    }
    this.#happenings = [];
    return lines;
  }

  #lineOf({ atMs, word, subjects, rest }: Happening): string {
    const seconds = `${String(Math.floor(atMs / 1_000))}s`;
    const text = [shortList(subjects), rest].filter((part) => part !== '').join(' ');
    return `${seconds.padStart(5)}  ${word.padEnd(12)} ${this.names.replaceIn(text)}`.trimEnd();
  }

  #tell(word: string, subjects: readonly string[], rest = ''): void {
    this.#happenings.push({ atMs: this.#stage.seconds() * 1_000, word, subjects, rest });
  }

  #pod({ object, before, gone }: Change<Pod>): void {
    const { metadata, spec, status } = object;
    const earlier = before;
    const name = this.names.add(metadata.labels?.['app'] ?? metadata.name, metadata.name);
    if (gone) return this.#tell('gone', [name]);
    if (earlier === undefined) return this.#tell('pending', [name]);
    if (earlier.spec?.nodeName === undefined && spec?.nodeName !== undefined)
      this.#tell('bound', [name], `to ${spec.nodeName}`);
    if (earlier.status?.phase !== 'Running' && status?.phase === 'Running')
      this.#tell('running', [name], `on ${spec?.nodeName ?? ''}`);
    if (isDeleted(object) && !isDeleted(earlier)) this.#tell('deleted', [name]);
  }

  #node({ object, before, gone }: Change<KubeObject>): void {
    const name = this.names.add('node', object.metadata.name);
    if (gone) this.#tell('gone', [name]);
    else if (before === undefined) this.#tell('joined', [name]);
    else if (isDisrupted(object) && !isDisrupted(before)) this.#tell('tainted', [name]);
  }

  #claim({ object, before, gone }: Change<KubeObject>): void {
    const name = this.names.add('claim', object.metadata.name);
    if (gone) this.#tell('gone', [name]);
    else if (before === undefined) this.#tell('claim', [name]);
    else if (isDeleted(object) && !isDeleted(before)) this.#tell('deleted', [name]);
  }

  #command({ object, before, gone }: Change<KubeObject>): void {
    const name = this.names.add('command', object.metadata.name);
    if (gone) this.#tell('gone', [name]);
    else if (before === undefined) this.#tell('command', [name]);
    else if (phaseOf(object) !== phaseOf(before)) this.#tell('phase', [name], phaseOf(object));
  }

  #lease(lease: KubeObject): void {
    const holder = (lease['spec'] as { readonly holderIdentity?: string }).holderIdentity ?? '';
    if (holder === (this.#leaders.get(lease.metadata.name) ?? '')) return;
    this.#leaders.set(lease.metadata.name, holder);
    if (holder !== '') this.#tell('leads', [holder]);
  }

  #event(event: KubeObject): void {
    const reason = String(event['reason']);
    const about = event['involvedObject'] as { readonly kind: string; readonly name: string };
    const message = String(event['message']);
    const name = this.names.replaceIn(about.name);
    const text = `${reason} ${name}: ${message}`;
    // Kubernetes' scheduler and controllers have Events of the same reasons.
    const source = JSON.stringify(event['source'] ?? event['reportingComponent'] ?? '');
    if (!eventReasons.includes(reason) || !source.includes('dovetail')) return;
    if (about.kind === 'NodeClaim' && reason !== 'InsufficientCapacityError') return;
    // Every fresh node has this Event for a second or two.
    if (message.startsWith("Node isn't initialized")) return;
    if (this.#told.has(text)) return;
    this.#told.add(text);
    this.#tell('event', [name], `${reason}: ${shortened(message)}`);
  }

  async #followDecisions(): Promise<void> {
    const { channel, stop } = this.#stage;
    for await (const event of followDecisions(channel, stop.signal))
      if (event.kind === 'decision' && isTold(event.decision))
        this.#tell(event.decision.kind, [], decisionText(event.decision));
  }
}

type Change<T> = { readonly gone: boolean; readonly object: T; readonly before: T | undefined };

const isSame = (a: Happening, b: Happening): boolean =>
  a.subjects.length > 0 &&
  b.subjects.length > 0 &&
  a.word === b.word &&
  a.rest === b.rest &&
  Math.floor(a.atMs / 1_000) === Math.floor(b.atMs / 1_000);
const isDeleted = (object: KubeObject): boolean => object.metadata.deletionTimestamp !== undefined;
const phaseOf = ({ status }: KubeObject): string =>
  (status as { readonly phase?: string } | undefined)?.phase ?? '';
const isDisrupted = (node: KubeObject): boolean =>
  JSON.stringify(node['spec'] ?? {}).includes('karpenter.sh/disrupted');

/** Other lines show registration, and the decision `unschedulable` of a plan without any place. */
const isTold = ({ kind, priceMicrosPerHour }: Decision): boolean =>
  kind !== 'register' && !(kind === 'plan' && priceMicrosPerHour === 0);

function decisionText({ kind, summary, priceMicrosPerHour, reasons }: Decision): string {
  const price =
    priceMicrosPerHour === undefined ? [] : [`$${(priceMicrosPerHour / 1e6).toFixed(4)}`];
  const told = reasonedDecisions.includes(kind) ? reasons : [];
  const codes = [...new Set(told.map(({ code }) => code))].map((code) => `(${code})`);
  return [shortened(summary), ...price, ...codes].join(' ');
}

/** EC2's own messages are several lines long. */
const shortened = (text: string): string =>
  text.length <= textMax ? text : `${text.slice(0, textMax).trimEnd()} ...`;
const textMax = 150;
