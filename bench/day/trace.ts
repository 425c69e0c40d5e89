import { drawsFrom } from '@dovetail/test-support/faults';

/** A deployment of the day: its pods' requests, and the number of pods around which it swings. */
export type DayApp = {
  readonly name: string;
  readonly cpuMillis: number;
  readonly memoryMib: number;
  /** Pods of an ordinary hour. */
  readonly base: number;
  /** Its pods spread over zones, at most one apart, and wait for it. */
  readonly spread: boolean;
  /** At most a fifth of its pods may be out at once. */
  readonly guarded: boolean;
};

/** One thing that happens. `at`: seconds from the beginning of the day. */
export type DayEvent =
  | { readonly at: number; readonly kind: 'scale'; readonly app: string; readonly replicas: number }
  | { readonly at: number; readonly kind: 'rollout'; readonly app: string }
  /** Spot interrupts this share of the Spot instances that run then. */
  | { readonly at: number; readonly kind: 'wave'; readonly share: number };

/** A day of a cluster, compressed. Equal seeds give equal days. */
export type Day = {
  readonly seed: number;
  readonly seconds: number;
  readonly apps: readonly DayApp[];
  readonly events: readonly DayEvent[];
};

/** The seconds between two looks at the load. A third of the apps follow it at each look. */
const scaleEverySeconds = 20;

/** A value around `median` whose logarithm has the standard deviation `sigma` (Box and Muller). */
const logNormal = (next: () => number, median: number, sigma: number): number =>
  median * Math.exp(sigma * Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()));

const between = (low: number, value: number, high: number): number =>
  Math.min(high, Math.max(low, value));

function appOf(next: () => number, index: number): DayApp {
  const cpuMillis = 50 * Math.round(between(2, logNormal(next, 500, 0.8) / 50, 80));
  const mibPerMilli = between(1, logNormal(next, 3, 0.6), 8);
  return {
    name: `app-${index}`,
    cpuMillis,
    memoryMib: 64 * Math.ceil((cpuMillis * mibPerMilli) / 64),
    base: Math.round(between(1, logNormal(next, 8, 0.8), 60)),
    spread: next() < 0.2,
    guarded: next() < 0.4,
  };
}

/**
 * The share of its base that an app runs at a time of day: low at night, most in the afternoon,
 * never none.
 */
const loadAt = (share: number, phase: number): number =>
  0.65 - 0.45 * Math.cos(2 * Math.PI * (share + phase));

/** Draws a day of this many seconds. */
export function dayOf(what: {
  readonly seed: number;
  readonly seconds: number;
  readonly apps: number;
}): Day {
  const next = drawsFrom(what.seed);
  const apps = Array.from({ length: what.apps }, (_, index) => appOf(next, index));
  const phases = apps.map(() => 0.15 * (next() - 0.5));
  const replicasOf = (index: number, at: number): number => {
    const { base } = apps[index] ?? { base: 1 };
    const load = loadAt(at / what.seconds, phases[index] ?? 0) * (0.9 + 0.2 * next());
    return Math.max(1, Math.round(base * load));
  };
  const events: DayEvent[] = apps.map(({ name: app }, index) => ({
    at: 0,
    kind: 'scale',
    app,
    replicas: replicasOf(index, 0),
  }));
  for (let at = scaleEverySeconds; at < 0.95 * what.seconds; at += scaleEverySeconds)
    for (const [index, { name: app }] of apps.entries())
      if (next() < 1 / 3) events.push({ at, kind: 'scale', app, replicas: replicasOf(index, at) });
  for (const { name: app } of apps)
    if (next() < 0.3)
      events.push({ at: Math.round((0.1 + 0.7 * next()) * what.seconds), kind: 'rollout', app });
  events.push({ at: Math.round(0.6 * what.seconds), kind: 'wave', share: 0.25 });
  return {
    seed: what.seed,
    seconds: what.seconds,
    apps,
    events: events.toSorted((a, b) => a.at - b.at),
  };
}
