import { type KubeObject, kubeResources } from '@dovetail/core-ports';

import type { StoryStage } from '../story-stage.js';

const { nodeClaims, nodes, pods } = kubeResources;

type Claim = KubeObject & { readonly status?: { readonly providerID?: string } };
type Node = KubeObject & { readonly spec?: { readonly providerID?: string } };
type Pod = KubeObject & {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: { readonly phase?: string };
};

const instanceIdOf = (providerId = ''): string => providerId.split('/').at(-1) ?? '';
const isDeleted = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;

/** The tag by which Karpenter and Dovetail find the claim of an instance. */
const claimTag = 'karpenter.sh/nodeclaim';

/** A notice leaves two minutes; a pod that was lost then is replaced within a few more. */
const reclaimSeconds = 600;

/**
 * Watches the laws that hold at every moment.
 * - No claim has two living instances.
 * - No service ends an instance whose claim stands.
 * - No drain leaves an app with fewer pods than its budget allows.
 */
export class Watchman {
  readonly broken: string[] = [];
  readonly #stage: StoryStage;
  /** Instances that EC2 takes by itself, and the seconds at which it told so. */
  readonly #taken = new Map<string, number>();

  constructor(stage: StoryStage) {
    this.#stage = stage;
    stage.twin.subscribe(({ kind, machine }) => {
      const { instanceId, tags } = machine;
      if (kind === 'launched') this.#launched(instanceId, tags[claimTag] ?? '');
      if (kind === 'stopping' && !this.#taken.has(instanceId)) this.#ended(instanceId);
    });
  }

  /** EC2 has announced the end of this instance: from now on it may go at any time. */
  takes(instanceId: string): void {
    this.#taken.set(instanceId, this.#stage.seconds());
  }

  /** Breaches of disruption budgets that no reclaimed instance explains. */
  brokenBudgets(): readonly string[] {
    return this.#stage.workloads.broken.filter((line) => {
      const at = Number(/^[\d.]+/.exec(line)?.[0]);
      return ![...this.#taken.values()].some((told) => at >= told && at <= told + reclaimSeconds);
    });
  }

  #launched(instanceId: string, claim: string): void {
    const twins = this.#stage.runningInstances().filter((id) => {
      const { tags } = this.#stage.twin.instances.get(id);
      return id !== instanceId && claim !== '' && tags[claimTag] === claim;
    });
    for (const twin of twins) this.#tell(`claim ${claim} has two instances, ${twin} and another`);
  }

  #ended(instanceId: string): void {
    const claims = this.#stage.list(nodeClaims) as readonly Claim[];
    const claim = claims.find(({ status }) => instanceIdOf(status?.providerID) === instanceId);
    if (claim !== undefined && !isDeleted(claim))
      this.#tell(`instance ${instanceId} was ended while its claim ${claim.metadata.name} stands`);
  }

  #tell(what: string): void {
    this.broken.push(`${String(Math.floor(this.#stage.seconds()))}s ${what}`);
  }
}

/** The laws that hold some time after the last fault. Returns a line for each breach. */
export function breachesAtRest(stage: StoryStage): readonly string[] {
  return [...strandedPods(stage), ...unpaired(stage), ...unfinished(stage)];
}

function strandedPods(stage: StoryStage): readonly string[] {
  const standing = new Set(stage.names(nodes));
  return (stage.list(pods) as readonly Pod[]).flatMap(({ metadata, spec, status }) => {
    const on = spec?.nodeName;
    if (status?.phase === 'Running' && on !== undefined && standing.has(on)) return [];
    return [`pod ${metadata.name} is ${status?.phase ?? 'new'} on ${on ?? 'no node'}`];
  });
}

/** A drain takes seconds here, and EC2 ends an instance within a minute. */
const endMsMax = 600_000;

/** Claims whose end began long ago and has not come. */
function unfinished(stage: StoryStage): readonly string[] {
  const nowMs = stage.clock.nowMs();
  return stage
    .list(nodeClaims)
    .flatMap(({ metadata: { name, deletionTimestamp } }) =>
      deletionTimestamp !== undefined && nowMs - Date.parse(deletionTimestamp) > endMsMax
        ? [`claim ${name} is still ending, since ${deletionTimestamp}`]
        : [],
    );
}

/** Instances, claims and nodes are pairs of three. */
function unpaired(stage: StoryStage): readonly string[] {
  const claims = new Set(
    (stage.list(nodeClaims) as readonly Claim[]).map(({ status }) =>
      instanceIdOf(status?.providerID),
    ),
  );
  const joined = new Set(
    (stage.list(nodes) as readonly Node[]).map(({ spec }) => instanceIdOf(spec?.providerID)),
  );
  const running = new Set(stage.runningInstances());
  const not = (ids: Iterable<string>, others: ReadonlySet<string>, what: string) =>
    [...ids].filter((id) => !others.has(id)).map((id) => `${what} ${id}`);
  return [
    ...not(running, claims, 'no claim has instance'),
    ...not(claims, running, 'a claim has no running instance:'),
    ...not(joined, running, 'a node has no running instance:'),
    ...not(running, joined, 'no node has instance'),
  ];
}
