import { lookUp } from '@dovetail/core-invariant';
import { compareText } from '@dovetail/core-kube-model';

import { accessDenied, AwsFault, serviceOf } from './aws-fault.js';
import type { Timeline } from './timeline.js';

/**
 * A token bucket. It holds at most `capacity` tokens and gains `refillPerSecond`; a call takes one.
 */
export type Bucket = { readonly capacity: number; readonly refillPerSecond: number };

/** The bucket of each API action. EC2 limits each action by itself, per account and region. */
export type Buckets = {
  readonly ec2Reads: Bucket;
  readonly ec2Writes: Bucket;
  /** Actions (`ec2:RunInstances`) with a bucket of their own size, of any service. */
  readonly actions: Readonly<Record<string, Bucket>>;
  /** Resource rate limits: an action takes a token for each instance that it names. */
  readonly resources: Readonly<Record<string, Bucket>>;
};

/**
 * The default limits of an account, from the EC2 developer guide ("Request throttling for the
 * Amazon EC2 API"). The other services have their documented defaults.
 */
export const documentedBuckets: Buckets = {
  ec2Reads: { capacity: 100, refillPerSecond: 20 },
  ec2Writes: { capacity: 50, refillPerSecond: 5 },
  actions: {
    'ec2:RunInstances': { capacity: 5, refillPerSecond: 2 },
    'ec2:TerminateInstances': { capacity: 100, refillPerSecond: 5 },
    'ec2:CreateTags': { capacity: 100, refillPerSecond: 10 },
    'ssm:GetParameter': { capacity: 40, refillPerSecond: 40 },
    'pricing:GetProducts': { capacity: 20, refillPerSecond: 10 },
    'eks:DescribeCluster': { capacity: 100, refillPerSecond: 10 },
  },
  resources: { 'ec2:TerminateInstances': { capacity: 1000, refillPerSecond: 20 } },
};

/**
 * A failure that a test orders for the next `times` calls of an action. `before` (the default)
 * fails without an effect; `after` keeps the effect and loses the answer.
 */
export type OrderedFailure = {
  /** `ec2:CreateFleet`, or `*` for every action. */
  readonly action: string;
  readonly code: string;
  readonly message?: string;
  readonly status?: number;
  readonly times: number;
  readonly when?: 'before' | 'after';
};

/** How often an action was called, failed and was throttled. */
export type CallCount = {
  readonly action: string;
  readonly calls: number;
  readonly failed: number;
  readonly throttled: number;
};

/**
 * The caller's access key (absent in process), and how many instances the call names, which
 * resource limits count.
 */
export type Caller = { readonly accessKey?: string; readonly resources?: number };

const throttleCodes: Readonly<
  Record<string, readonly [code: string, status: number, message: string]>
> = {
  ec2: ['RequestLimitExceeded', 503, 'Request limit exceeded.'],
  iam: ['Throttling', 400, 'Rate exceeded'],
};
const throttled = (action: string): AwsFault => {
  const [code, status, message] = lookUp(throttleCodes, serviceOf(action)) ?? [
    'ThrottlingException',
    400,
    'Rate exceeded',
  ];
  return new AwsFault(code, message, status);
};

type Level = { tokens: number; atMs: number };

function bucketFor(limits: Buckets | 'none', action: string): Bucket | undefined {
  if (limits === 'none') return undefined;
  const own = lookUp(limits.actions, action);
  if (own !== undefined || !action.startsWith('ec2:')) return own;
  return /^ec2:(Describe|Get|List|Search)/.test(action) ? limits.ec2Reads : limits.ec2Writes;
}

/** Takes tokens if there are enough; the bucket refills continuously. */
function take(
  levels: Map<string, Level>,
  key: string,
  bucket: Bucket,
  order: { readonly count: number; readonly nowMs: number },
): boolean {
  const level = levels.get(key) ?? { tokens: bucket.capacity, atMs: order.nowMs };
  const tokens = Math.min(
    bucket.capacity,
    level.tokens + ((order.nowMs - level.atMs) * bucket.refillPerSecond) / 1000,
  );
  const enough = tokens >= order.count;
  levels.set(key, { tokens: enough ? tokens - order.count : tokens, atMs: order.nowMs });
  return enough;
}

type Count = { calls: number; failed: number; throttled: number };

const mayCall = (allowed: readonly string[] | undefined, action: string): boolean =>
  allowed === undefined ||
  allowed.some((right) => right === '*' || right === action || right === `${serviceOf(action)}:*`);

const isThrottle = (error: unknown): boolean =>
  error instanceof AwsFault &&
  (error.code === 'RequestLimitExceeded' || error.code.startsWith('Throttling'));

/** Stands between a call and its effect: counts, latency, ordered failures, rights, rate limits. */
export class Gate {
  readonly #timeline: Timeline;
  readonly #limits: Buckets | 'none';
  readonly #counts = new Map<string, Count>();
  readonly #levels = new Map<string, Level>();
  readonly #overrides = new Map<string, Bucket | 'none'>();
  readonly #latencies = new Map<string, number>();
  readonly #rights = new Map<string, readonly string[]>();
  #failures: { readonly order: OrderedFailure; left: number }[] = [];

  /** The gate's time is the timeline's. */
  constructor(timeline: Timeline, limits: Buckets | 'none') {
    this.#timeline = timeline;
    this.#limits = limits;
  }

  /** Runs the effect. Throws AwsFault when the call is refused or its answer is lost. */
  async run<T>(action: string, caller: Caller, effect: () => T | Promise<T>): Promise<T> {
    const count = this.#counts.get(action) ?? { calls: 0, failed: 0, throttled: 0 };
    this.#counts.set(action, count);
    count.calls += 1;
    const latencyMs = this.#latencies.get(action) ?? this.#latencies.get('*') ?? 0;
    if (latencyMs > 0) await this.#timeline.sleep(latencyMs);
    this.#timeline.settle();
    try {
      this.#check(action, caller);
      const result = await effect();
      const lost = this.#orderedFailure(action, 'after');
      if (lost !== undefined) throw lost;
      return result;
    } catch (error) {
      count.failed += 1;
      if (isThrottle(error)) count.throttled += 1;
      throw error;
    }
  }

  /** Calls per action since the start or the last reset, by action. */
  counts(): readonly CallCount[] {
    return [...this.#counts]
      .map(([action, count]) => ({ action, ...count }))
      .sort((left, right) => compareText(left.action, right.action));
  }

  resetCounts(): void {
    this.#counts.clear();
  }

  /** Makes the next `times` calls fail. */
  fail(order: OrderedFailure): void {
    if (order.times > 0) this.#failures.push({ order, left: order.times });
  }

  /** Ends what `fail` has ordered. */
  endFailures(): void {
    this.#failures = [];
  }

  /** Milliseconds that each call of the action (or of `*`) takes; 0 ends it. */
  setLatency(action: string, durationMs: number): void {
    if (durationMs > 0) this.#latencies.set(action, durationMs);
    else this.#latencies.delete(action);
  }

  /** Replaces the action's bucket with a full one, removes its limit, or gives its own back. */
  setBucket(action: string, bucket: Bucket | 'none' | 'documented'): void {
    if (bucket === 'documented') this.#overrides.delete(action);
    else this.#overrides.set(action, bucket);
    this.#levels.delete(action);
  }

  /**
   * Sets what an access key may do: actions, `service:*` or `*`. A key without rights of its own
   * may do everything.
   */
  setRights(accessKey: string, allowed: readonly string[]): void {
    this.#rights.set(accessKey, allowed);
  }

  /** Throws AwsFault if the call may not go on. */
  #check(action: string, caller: Caller): void {
    const fault = this.#orderedFailure(action, 'before');
    if (fault !== undefined) throw fault;
    const { accessKey, resources: count = 1 } = caller;
    if (accessKey !== undefined && !mayCall(this.#rights.get(accessKey), action))
      throw accessDenied(serviceOf(action), `No identity-based policy allows the ${action} action`);
    const limits = this.#limits;
    const bucket = this.#overrides.get(action) ?? bucketFor(limits, action);
    if (bucket !== undefined && bucket !== 'none' && !this.#take(action, bucket, 1))
      throw throttled(action);
    const resources = limits === 'none' ? undefined : lookUp(limits.resources, action);
    if (resources !== undefined && !this.#take(`${action}#resources`, resources, count))
      throw throttled(action);
  }

  #take(key: string, bucket: Bucket, count: number): boolean {
    return take(this.#levels, key, bucket, { count, nowMs: this.#timeline.nowMs() });
  }

  #orderedFailure(action: string, when: 'before' | 'after'): AwsFault | undefined {
    const found = this.#failures.find(
      ({ order }) =>
        (order.when ?? 'before') === when && (order.action === action || order.action === '*'),
    );
    if (found === undefined) return undefined;
    found.left -= 1;
    this.#failures = this.#failures.filter((failure) => failure.left > 0);
    const { code, message, status } = found.order;
    return new AwsFault(
      code,
      message ?? `${code} was ordered for this call`,
      status ?? (code === 'RequestLimitExceeded' || code === 'InternalError' ? 503 : 400),
    );
  }
}
