/**
 * The parts that services share. Each is written once, pure, and driven through ports.
 *
 * - `watch/` brings the cluster in. `watchServed` watches a resource that the API server may not
 *   serve yet; `UnreadableObjects` names each object that cannot be read, once per fault;
 *   `AdmittedTemplates` has daemonsets as their pods will be.
 * - `work/` orders what there is to do. `WorkQueue` looks at keys, one look per key at a time;
 *   `Wake` wakes a loop; `inParallel`, `TokenBucket`, `groupBy` and `untilDone` do what they say.
 *   `tryTurn` takes a turn of a loop that may fail.
 *   `Gathered` makes one call of what many ask for in one moment.
 *   `keepInHand` keeps the bus from delivering work again that is under way. `runBeside` adds a
 *   loop to a service.
 * - `write/` changes Kubernetes objects, guarded by the version a change was decided on:
 *   `changeGuarded` (from a mirror's reading), `changeLive`, `changeConditions`, `StatusWriter`.
 *   `whileLeading` and `kubeWhileLeading` refuse the writes of a leader whose epoch is over.
 * - `tell/` informs others, and never holds up the work. `EventRecorder` writes Kubernetes Events.
 *   `Decisions` publishes decisions through an `Outbox`. `FeedMirror` keeps a service's part of the
 *   state feed equal to what it should say. `claimFacts` is the part of a decision that is about a
 *   claim, and `decisionOfPlan` makes that of a plan. `waitingWords` says why a pod waits.
 *   `countDisrupted` counts a claim that ends.
 *   `decisionWords` are the parts of a decision in words, and `gapTold` the numbers of a `gap`.
 *   `lagWords` says how far solvers are behind.
 *   `aboutPod`, `aboutNode` and others are the subjects of Events.
 *
 * The folders `watch`, `work` and `write` do not know each other; `tell` uses `work`.
 *
 * A service wires them like this; all loops end with `stop`:
 *
 * ```ts
 * const outbox = busOutbox(deps);
 * const decisions = new Decisions({ channel, outbox, log });
 * const events = new EventRecorder(deps, 'reaper');
 * const retries = { retryMs: 200, retryMaxMs: 10_000 };
 * const queue = new WorkQueue({ clock, concurrency: 10, ...retries, onError });
 * await Promise.all([
 *   watchServed(deps, { resource, project, optional: false }, { event, absent }, stop),
 *   queue.run((claimName) => look(claimName), stop),
 *   events.run(stop),
 *   outbox.run(stop),
 * ]);
 * ```
 *
 * The face of a service, `Service`, is in core-ports, where the runtime sees it, too.
 */
export * from './metrics.js';
export * from './tell/about.js';
export * from './tell/claim-facts.js';
export * from './tell/count-text.js';
export * from './tell/decision-words.js';
export * from './tell/decisions.js';
export * from './tell/disrupted.js';
export * from './tell/event-recorder.js';
export * from './tell/feed-mirror.js';
export * from './tell/gap-told.js';
export * from './tell/lag-words.js';
export * from './tell/left-out-words.js';
export * from './tell/malformed-messages.js';
export * from './tell/measured-resources.js';
export { busOutbox, Outbox } from './tell/outbox.js';
export { outrunEpoch } from './tell/outrun-epoch.js';
export * from './tell/plan-decision.js';
export * from './tell/waiting-words.js';
export * from './watch/admitted-templates.js';
export * from './watch/unreadable-objects.js';
export * from './watch/watch-served.js';
export * from './work/gate.js';
export * from './work/gathered.js';
export * from './work/group-by.js';
export * from './work/in-parallel.js';
export * from './work/keep-in-hand.js';
export * from './work/run-beside.js';
export * from './work/token-bucket.js';
export * from './work/try-turn.js';
export * from './work/turns.js';
export * from './work/until-done.js';
export * from './work/wake.js';
export * from './work/work-queue.js';
export * from './write/change-guarded.js';
export * from './write/conditions.js';
export * from './write/finalizers.js';
export * from './write/status-writer.js';
export * from './write/while-leading.js';
