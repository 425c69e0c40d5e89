import type { QueueLag } from '@dovetail/core-ports';
import { lagWords } from '@dovetail/service-kit';

import type { ServiceRow } from '../view/frames.js';
import type { ClusterBoard } from './cluster-board.js';
import type { DecisionBook } from './decision-book.js';

/** How far solvers are behind, if the bus says it. Undefined: none has ever run. */
export type SolversLag = QueueLag | undefined | 'unknown';

/** The services by their signs on the bus. Names of leaders are in Leases, which no role reads. */
export function serviceRows(
  board: ClusterBoard,
  book: DecisionBook,
  lag: SolversLag,
): readonly ServiceRow[] {
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
      work: [
        ...(lag === 'unknown' ? [] : [lagWords(lag)]),
        round === undefined ? 'has planned nothing yet' : `last plan${took}: ${round.summary}`,
      ].join('; '),
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
