import type { VainTypes } from '@dovetail/core-cluster';
import type { Decisions, EventRecorder, Outbox } from '@dovetail/service-kit';

import type { News } from './cluster/news.js';
import type { ReaperCluster } from './cluster/reaper-cluster.js';
import type { ReaperConfig } from './config.js';
import type { ReaperDeps } from './deps.js';
import type { LiveAttachments } from './outside/attachments.js';
import type { ClockCheck } from './outside/clock-check.js';
import type { Instances } from './outside/instances.js';
import type { PlanRequests } from './outside/plan-requests.js';

/** The parts that all of the reaper works with. They live as long as the process. */
export type ReaperContext = {
  readonly deps: ReaperDeps;
  readonly config: ReaperConfig;
  readonly cluster: ReaperCluster;
  /** Counts the changes after which an answer about nodes may be another. */
  readonly news: News;
  readonly events: EventRecorder;
  readonly decisions: Decisions;
  /** For offerings to avoid. Decisions have an outbox of their own, which may be long. */
  readonly outbox: Outbox;
  readonly instances: Instances;
  readonly attachments: LiveAttachments;
  readonly requests: PlanRequests;
  readonly clockCheck: ClockCheck;
  /** The types that commands have bought in vain. */
  readonly vainTypes: Pick<VainTypes, 'isLeftOut'>;
};
