/** The console's picture of a cluster as it travels to the page, and as the page keeps it. */
export type {
  BusLink,
  CostPoint,
  DecisionRow,
  Frame,
  RoundRow,
  ServiceRow,
  WaitingRow,
} from './frames.js';
export { applied, decisionsShownMax, emptyView, type View } from './view.js';
