import { applied, emptyView, type View } from '@dovetail/service-console/view';
import { useEffect, useState } from 'preact/hooks';

import { browserId } from './browser-id.js';
import { followFrames, type LinkParts, type LinkState } from './frame-link.js';
import { openStream } from './frame-stream.js';

/** Everything that the page knows. */
export type PageState = {
  readonly view: View;
  readonly link: LinkState;
  /** When the console was lost, by its own clock. */
  readonly lostMs: number;
  /** The console's clock now. */
  readonly nowMs: number;
};

/** The console's clock: the time of its last frame, and what has passed here since. */
type Clock = { readonly consoleMs: number; readonly hereMs: number };

const clockNow = ({ consoleMs, hereMs }: Clock): number => consoleMs + (performance.now() - hereMs);

const parts: LinkParts = {
  open: (listener) => openStream(`events?browser=${browserId()}`, listener),
  after: (ms, act) => {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
  isSeen: () => document.visibilityState === 'visible',
  onSight: (act) => {
    document.addEventListener('visibilitychange', act);
    return () => document.removeEventListener('visibilitychange', act);
  },
};

/** Follows the console. The page is drawn anew for each frame, and each second for the ages. */
export function usePage(): PageState {
  const [view, setView] = useState(emptyView);
  const [link, setLink] = useState<LinkState>({ kind: 'connecting' });
  const [lostMs, setLostMs] = useState(0);
  const [clock, setClock] = useState<Clock>({ consoleMs: Date.now(), hereMs: performance.now() });
  const [, setTick] = useState(0);
  useEffect(() => {
    let last: Clock = clock;
    return followFrames(parts, {
      onFrame: (frame) => {
        last = { consoleMs: frame.nowMs, hereMs: performance.now() };
        setClock(last);
        setView((before) => applied(before, frame));
      },
      onState: (state) => {
        setLink((before) => {
          if (state.kind === 'lost' && before.kind !== 'lost') setLostMs(clockNow(last));
          return state;
        });
      },
    });
  }, []);
  useEffect(() => {
    const timer = setInterval(() => setTick((count) => count + 1), 1_000);
    return () => clearInterval(timer);
  }, []);
  return { view, link, lostMs, nowMs: clockNow(clock) };
}
