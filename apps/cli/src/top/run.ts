import { Fleet, type FleetKind, fleetObjectOf } from '@dovetail/core-fleet';
import {
  KubeError,
  type KubeResource,
  kubeResources,
  type Log,
  messageOf,
  Stopper,
  type StopSignal,
} from '@dovetail/core-ports';

import { type Cluster, clusterOf, type ClusterRequest } from '../cluster/access.js';
import type { Layout } from '../layout/columns.js';
import type { Streams } from '../simulate/run.js';
import { topNodesOf, topSchema } from './node.js';
import { selected, type TopSelection } from './selection.js';
import { topText, totalOf } from './text.js';

/** The request of one command line. */
export type TopRequest = {
  readonly cluster: ClusterRequest;
  readonly selection: TopSelection;
  readonly output: 'table' | 'json';
  readonly layout: Layout;
};

/** Exit codes: done; bad flags; the cluster cannot be read (EX_UNAVAILABLE). */
const topExitCodes = { done: 0, badInput: 64, unavailable: 69 } as const;

/** A terminal that is drawn over and over. */
export type Screen = {
  size(): { readonly columns: number; readonly rows: number };
  /** Replaces everything that the screen shows. */
  draw(text: string): void;
};

const sources: readonly (readonly [FleetKind, KubeResource])[] = [
  ['claim', kubeResources.nodeClaims],
  ['node', kubeResources.nodes],
  ['pool', kubeResources.nodePools],
  ['pod', kubeResources.pods],
];

const remedy =
  'check --kubeconfig or KUBECONFIG, and the right to list and watch nodes, pods, NodeClaims and NodePools';

/** Reads the cluster once, and prints its nodes. Resolves to the exit code. */
export async function topOnce(request: TopRequest, output: Streams): Promise<number> {
  let name = 'the cluster';
  try {
    const cluster = clusterOf(request.cluster);
    name = cluster.name;
    output.progress('reading the cluster…');
    const fleet = await listed(cluster);
    output.progress('');
    output.out(once(fleet, request, cluster.nowMs()));
    return topExitCodes.done;
  } catch (error) {
    output.progress('');
    output.err(`${name} cannot be read (${messageOf(error)}): ${remedy}\n`);
    return topExitCodes.unavailable;
  }
}

async function listed({ kube }: Cluster): Promise<Fleet> {
  const fleet = new Fleet();
  await Promise.all(
    sources.map(async ([kind, resource]) => {
      for (const object of await kube.list(resource)) {
        const known = fleetObjectOf[kind](object);
        if (known !== undefined) fleet.set(known);
      }
    }),
  );
  return fleet;
}

function once(fleet: Fleet, { selection, output, layout }: TopRequest, nowMs: number): string {
  const nodes = selected(topNodesOf(fleet, nowMs), selection);
  if (output === 'table') return topText(nodes, fleet.waiting(), { bars: false, layout });
  const time = new Date(nowMs).toISOString();
  const total = totalOf(nodes, fleet.waiting());
  return `${JSON.stringify({ schema: topSchema, time, total, nodes }, undefined, 2)}\n`;
}

/** The last trouble with the API server, for the screen. */
class Trouble implements Log {
  text = '';

  readonly debug = (): void => undefined;
  readonly info = (): void => undefined;
  readonly warn = (_event: string, message: string): void => {
    this.text = message;
  };
  readonly error = this.warn;
}

/**
 * Watches the cluster, and draws its nodes until `stop`. Resolves to the exit code. While the API
 * server is away, the screen says so and keeps what was last read.
 */
export async function topLive(
  request: TopRequest,
  {
    screen,
    everyMs,
    output,
  }: { readonly screen: Screen; readonly everyMs: number; readonly output: Streams },
  stop: StopSignal,
): Promise<number> {
  const trouble = new Trouble();
  const ended = new Stopper();
  try {
    const cluster = clusterOf(request.cluster, trouble);
    const fleet = new Fleet();
    const waiting = new Set(sources.map(([kind]) => kind));
    const end = (): void => ended.abort();
    stop.addEventListener('abort', end, { once: true });
    if (stop.aborted) end();
    const following = Promise.all(
      sources.map((source) => follow(cluster, source, { fleet, waiting, trouble }, ended)),
    );
    const frame = (): void => {
      screen.draw(frameOf(fleet, request, { screen, nowMs: cluster.nowMs(), waiting, trouble }));
    };
    frame();
    const timer = setInterval(frame, everyMs);
    await following.finally(() => clearInterval(timer));
    return topExitCodes.done;
  } catch (error) {
    ended.abort();
    output.err(`the cluster cannot be read (${messageOf(error)}): ${remedy}\n`);
    return topExitCodes.unavailable;
  }
}

type Following = {
  readonly fleet: Fleet;
  /** The kinds whose first list is not complete. */
  readonly waiting: Set<FleetKind>;
  readonly trouble: Trouble;
};

async function follow(
  { kube }: Cluster,
  [kind, resource]: readonly [FleetKind, KubeResource],
  { fleet, waiting, trouble }: Following,
  stop: StopSignal,
): Promise<void> {
  // An object that counts for nothing any more still has a UID by which it is forgotten.
  const project = (object: Parameters<(typeof fleetObjectOf)[FleetKind]>[0]) => ({
    uid: object.metadata.uid ?? '',
    known: fleetObjectOf[kind](object),
  });
  try {
    for await (const event of kube.watch({ resource, project }, stop)) {
      trouble.text = '';
      if (event.kind === 'synced') waiting.delete(kind);
      if (event.kind === 'restored') fleet.clear(kind);
      if (event.kind === 'gone') fleet.drop(kind, event.uid);
      if (event.kind !== 'set') continue;
      const { uid, known } = event.value;
      if (known === undefined) fleet.drop(kind, uid);
      else fleet.set(known);
    }
  } catch (error) {
    if (stop.aborted) return;
    const { kind: of, group } = resource;
    const isAbsent = error instanceof KubeError && error.code === 'no-such-resource';
    throw isAbsent
      ? new Error(`it has no ${of}.${group}: Dovetail's definitions are not installed`)
      : error;
  }
}

/** The lines that the headline, the table's header, the rest and the trouble take. */
const otherLines = 5;

function frameOf(
  fleet: Fleet,
  { selection }: TopRequest,
  {
    screen,
    nowMs,
    waiting,
    trouble,
  }: {
    readonly screen: Screen;
    readonly nowMs: number;
    readonly waiting: ReadonlySet<FleetKind>;
    readonly trouble: Trouble;
  },
): string {
  const { columns: width, rows } = screen.size();
  const note = trouble.text === '' ? '' : `the API server: ${trouble.text}\n`;
  if (waiting.size > 0) return `reading the cluster: ${[...waiting].join('s, ')}s…\n${note}`;
  const nodes = selected(topNodesOf(fleet, nowMs), selection);
  const rowsMax = Math.max(1, rows - otherLines);
  return `${topText(nodes, fleet.waiting(), { rowsMax, bars: true, layout: { width } })}${note}q ends\n`;
}
