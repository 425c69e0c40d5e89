import type { ServiceRow } from '../view/frames.js';
import type { ClusterBoard } from './cluster-board.js';
import type { DecisionBook } from './decision-book.js';

/** The services by their signs on the bus. Names of leaders are in Leases, which no role reads. */
export function serviceRows(board: ClusterBoard, book: DecisionBook): readonly ServiceRow[] {
  const { admission, watcherEpoch, lastMs } = board;
  const round = book.rounds().at(-1);
  const said = (source: string): Pick<ServiceRow, 'lastMs'> => {
    const atMs = book.lastMs(source);
    return atMs === undefined ? {} : { lastMs: atMs };
  };
  const took = round?.solveMs === undefined ? '' : ` in ${String(round.solveMs)} ms`;
  return [
    {
      name: 'pod-watcher',
      ...(lastMs === undefined ? {} : { lastMs }),
      ...(watcherEpoch === undefined ? {} : { epoch: watcherEpoch }),
      work: 'publishes the state of the cluster',
    },
    {
      name: 'solver',
      ...said('solver'),
      work: round === undefined ? 'has planned nothing yet' : `last plan${took}: ${round.summary}`,
    },
    {
      name: 'launcher',
      ...said('launcher'),
      ...(admission === undefined ? {} : { epoch: admission.epoch }),
      work:
        admission === undefined
          ? 'has admitted nothing yet'
          : `last admission ${String(admission.epoch)}.${String(admission.number)}`,
    },
    { name: 'reaper', ...said('reaper'), work: 'ends nodes' },
  ];
}
