/** The console's picture of a cluster as it travels to the page, and as the page keeps it. */
export type {
  CostPoint,
  DecisionRow,
  Frame,
  GapRow,
  GapView,
  RoundRow,
  ServiceRow,
} from './frames.js';
export { applied, emptyView, type View } from './view.js';
