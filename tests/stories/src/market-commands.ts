import type { Command } from './command.js';
import { msOf } from './fault-commands.js';
import type { Settings } from './services.js';

/** Prices, and what the services are set to make of them. */
export const marketCommands: readonly Command[] = [
  {
    pattern:
      /^settings consolidation=(?<mode>delete|replace|all|search) spot-to-spot=(?<gate>yes|no) prices=(?<length>\d+[smh])$/,
    run: (stage, { mode, gate, length }) => {
      stage.settings = {
        ...stage.settings,
        consolidation: mode as Settings['consolidation'],
        spotToSpot: gate === 'yes',
        priceRefreshMs: msOf(length),
      };
    },
  },
  {
    pattern: /^all spot costs (?<factor>[\d.]+)x$/,
    run: ({ twin, clock }, { factor }) => twin.market.turn({}, Number(factor), clock.nowMs()),
  },
  {
    pattern: /^spot (?<family>[a-z0-9]+) costs (?<factor>[\d.]+)x$/,
    run: ({ twin, clock }, { family = '', factor }) =>
      twin.market.turn({ family }, Number(factor), clock.nowMs()),
  },
  {
    pattern: /^spot (?<type>\S+)@(?<zone>\S+) costs (?<factor>[\d.]+)x$/,
    run: ({ twin, clock }, { type = '', zone = '', factor }) =>
      twin.market.turn({ type, zone }, Number(factor), clock.nowMs()),
  },
  {
    pattern: /^spot prices stand still$/,
    run: ({ twin, clock }) => twin.market.stand(clock.nowMs()),
  },
];
