import { applied, emptyView, type View } from '@dovetail/service-console/view';
import { useEffect, useState } from 'preact/hooks';

import { followFrames, type LinkState, type StreamListener } from './frame-link.js';

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

const parts = {
  open: ({ onText, onBroken }: StreamListener): (() => void) => {
    const source = new EventSource('events');
    source.onmessage = ({ data }) => onText(String(data));
    source.onerror = onBroken;
    return () => source.close();
  },
  after: (ms: number, act: () => void): (() => void) => {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
};

/** Follows the console. The page is drawn anew for each frame, and each second for the ages. */
export function usePage(): PageState {
  const [view, setView] = useState(emptyView);
  const [link, setLink] = useState<LinkState>('connecting');
  const [lostMs, setLostMs] = useState(0);
  const [clock, setClock] = useState<Clock>({ consoleMs: Date.now(), hereMs: performance.now() });
  const [, setTick] = useState(0);
  useEffect(() => {
    let last: Clock = clock;
    return followFrames(
      parts,
      (frame) => {
        last = { consoleMs: frame.nowMs, hereMs: performance.now() };
        setClock(last);
        setView((before) => applied(before, frame));
      },
      (state) => {
        setLink((before) => {
          if (state === 'lost' && before !== 'lost') setLostMs(clockNow(last));
          return state;
        });
      },
    );
  }, []);
  useEffect(() => {
    const timer = setInterval(() => setTick((count) => count + 1), 1_000);
    return () => clearInterval(timer);
  }, []);
  return { view, link, lostMs, nowMs: clockNow(clock) };
}
