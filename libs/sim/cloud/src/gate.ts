import { AwsFault } from './fault.js';
import type { Timeline } from './timeline.js';

/** A token bucket: it holds at most `capacity` tokens and gains `refillPerSecond`; a call takes one. */
export type Bucket = { readonly capacity: number; readonly refillPerSecond: number };

/** Which bucket an API action draws from. EC2 evaluates each API action by itself, per account and region. */
export type Buckets = {
  readonly ec2Reads: Bucket;
  readonly ec2Writes: Bucket;
  /** Actions (`ec2:RunInstances`) with a bucket of their own size, of any service. */
  readonly actions: Readonly<Record<string, Bucket>>;
  /** Resource rate limits: an action takes a token for each instance that it names. */
  readonly resources: Readonly<Record<string, Bucket>>;
};

/** What EC2's developer guide gives as the default limits of an account ("Request throttling for the Amazon EC2 API"), and the defaults of the others. */
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

/** A failure that a test orders: the next `times` calls of an action fail, before their effect, or after it (the answer is lost). */
export type OrderedFailure = {
  /** `ec2:CreateFleet`, or `*` for every action. */
  readonly action: string;
  readonly code: string;
  readonly message?: string;
  readonly status?: number;
  readonly times: number;
  readonly when?: 'before' | 'after';
};

export type CallCount = { readonly action: string; readonly calls: number; readonly failed: number; readonly throttled: number };

/** Who calls, and how much: an access key (undefined in process), and the instances named, which resource limits count. */
export type Caller = { readonly accessKey?: string; readonly resources?: number };

/** Everything that stands between a call and its effect: counting, latency, ordered failures, rights, rate limits. */
export type Gate = {
  run<T>(action: string, caller: Caller, effect: () => T | Promise<T>): Promise<T>;
  counts(): readonly CallCount[];
  resetCounts(): void;
  fail(order: OrderedFailure): void;
  /** Milliseconds that each call of the action (or `*`) takes; 0 to end it. */
  setLatency(action: string, durationMs: number): void;
  setBucket(action: string, bucket: Bucket | 'none'): void;
  /** What an access key may do: actions, `service:*` or `*`. A key that was never named may do everything. */
  setRights(accessKey: string, allowed: readonly string[]): void;
};

const throttleCodes: Readonly<Record<string, readonly [code: string, status: number, message: string]>> = {
  ec2: ['RequestLimitExceeded', 503, 'Request limit exceeded.'],
  iam: ['Throttling', 400, 'Rate exceeded'],
};
const deniedCodes: Readonly<Record<string, readonly [code: string, status: number]>> = {
  ec2: ['UnauthorizedOperation', 403], iam: ['AccessDenied', 403], sts: ['AccessDenied', 403], sqs: ['AccessDenied', 403],
};

const serviceOf = (action: string): string => action.slice(0, action.indexOf(':'));

const throttled = (action: string): AwsFault => {
  const [code, status, message] = throttleCodes[serviceOf(action)] ?? ['ThrottlingException', 400, 'Rate exceeded'];
  return new AwsFault(code, message, status);
};

const denied = (action: string): AwsFault => {
  const [code, status] = deniedCodes[serviceOf(action)] ?? ['AccessDeniedException', 400];
  return new AwsFault(code, `You are not authorized to perform this operation. No identity-based policy allows the ${action} action`, status);
};

type Level = { tokens: number; atMs: number };

function bucketFor(limits: Buckets | 'none', action: string): Bucket | undefined {
  if (limits === 'none') return undefined;
  const own = limits.actions[action];
  if (own !== undefined || !action.startsWith('ec2:')) return own;
  return /^ec2:(Describe|Get|List|Search)/.test(action) ? limits.ec2Reads : limits.ec2Writes;
}

/** Takes tokens if there are enough; the bucket refills continuously. */
function take(levels: Map<string, Level>, key: string, bucket: Bucket, order: { readonly count: number; readonly nowMs: number }): boolean {
  const level = levels.get(key) ?? { tokens: bucket.capacity, atMs: order.nowMs };
  const tokens = Math.min(bucket.capacity, level.tokens + ((order.nowMs - level.atMs) * bucket.refillPerSecond) / 1000);
  const enough = tokens >= order.count;
  levels.set(key, { tokens: enough ? tokens - order.count : tokens, atMs: order.nowMs });
  return enough;
}

type Count = { calls: number; failed: number; throttled: number };
type GateState = {
  readonly counts: Map<string, Count>;
  readonly levels: Map<string, Level>;
  readonly overrides: Map<string, Bucket | 'none'>;
  readonly latencies: Map<string, number>;
  readonly rights: Map<string, readonly string[]>;
  failures: { readonly order: OrderedFailure; left: number }[];
};

function orderedFailure(state: GateState, action: string, when: 'before' | 'after'): AwsFault | undefined {
  const found = state.failures.find(({ order }) => (order.when ?? 'before') === when && (order.action === action || order.action === '*'));
  if (found === undefined) return undefined;
  found.left -= 1;
  state.failures = state.failures.filter((failure) => failure.left > 0);
  const { code, message, status } = found.order;
  return new AwsFault(code, message ?? `${code} was ordered for this call`, status ?? (code === 'RequestLimitExceeded' || code === 'InternalError' ? 503 : 400));
}

const mayCall = (allowed: readonly string[] | undefined, action: string): boolean =>
  allowed === undefined || allowed.some((right) => right === '*' || right === action || right === `${serviceOf(action)}:*`);

/** Refuses the call if something stands in its way. */
function check(state: GateState, limits: Buckets | 'none', call: { readonly action: string; readonly caller: Caller; readonly nowMs: number }): void {
  const { action, caller, nowMs } = call;
  const fault = orderedFailure(state, action, 'before');
  if (fault !== undefined) throw fault;
  if (caller.accessKey !== undefined && !mayCall(state.rights.get(caller.accessKey), action)) throw denied(action);
  const bucket = state.overrides.get(action) ?? bucketFor(limits, action);
  if (bucket !== undefined && bucket !== 'none' && !take(state.levels, action, bucket, { count: 1, nowMs })) throw throttled(action);
  const resources = limits === 'none' ? undefined : limits.resources[action];
  if (resources !== undefined && !take(state.levels, `${action}#resources`, resources, { count: caller.resources ?? 1, nowMs })) throw throttled(action);
}

function setLatencyIn(latencies: Map<string, number>, action: string, durationMs: number): void {
  if (durationMs > 0) latencies.set(action, durationMs); else latencies.delete(action);
}

/** A gate whose time is the timeline's. */
export function createGate(timeline: Timeline, limits: Buckets | 'none'): Gate {
  const state: GateState = { counts: new Map(), levels: new Map(), overrides: new Map(), latencies: new Map(), rights: new Map(), failures: [] };
  return {
    async run(action, caller, effect) {
      const count = state.counts.get(action) ?? { calls: 0, failed: 0, throttled: 0 };
      state.counts.set(action, count);
      count.calls += 1;
      const latencyMs = state.latencies.get(action) ?? state.latencies.get('*') ?? 0;
      if (latencyMs > 0) await timeline.sleep(latencyMs);
      timeline.settle();
      try {
        check(state, limits, { action, caller, nowMs: timeline.nowMs() });
        const result = await effect();
        const lost = orderedFailure(state, action, 'after');
        if (lost !== undefined) throw lost;
        return result;
      } catch (error) {
        count.failed += 1;
        if (error instanceof AwsFault && (error.code === 'RequestLimitExceeded' || error.code.startsWith('Throttling'))) count.throttled += 1;
        throw error;
      }
    },
    counts: () => [...state.counts].map(([action, count]) => ({ action, ...count })).sort((left, right) => (left.action < right.action ? -1 : 1)),
    resetCounts: () => { state.counts.clear(); },
    fail: (order) => { if (order.times > 0) state.failures.push({ order, left: order.times }); },
    setLatency: (action, durationMs) => { setLatencyIn(state.latencies, action, durationMs); },
    setBucket: (action, bucket) => { state.overrides.set(action, bucket); state.levels.delete(action); },
    setRights: (accessKey, allowed) => { state.rights.set(accessKey, allowed); },
  };
}
