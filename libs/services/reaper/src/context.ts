import type { ReaperConfig } from './config.js';
import type { ReaperDeps } from './deps.js';
import type { Decisions } from './effects/decisions.js';
import type { Events } from './effects/events.js';
import type { Instances } from './effects/instances.js';
import type { World } from './world/world.js';

/** What every part of the reaper works with. */
export type Reaping = {
  readonly deps: ReaperDeps;
  readonly config: ReaperConfig;
  readonly world: World;
  readonly events: Events;
  readonly decisions: Decisions;
  readonly instances: Instances;
};
