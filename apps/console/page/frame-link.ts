import type { Frame } from '@dovetail/service-console/view';

/** Whether the console answers. */
export type LinkState = 'connecting' | 'open' | 'lost';

/** The console sends something every 5 s. After three such times of silence it counts as away. */
const silenceMs = 15_000;
/** How long to wait before asking again. */
const againMs = 2_000;

/** A listener to one stream of frames. */
export type StreamListener = {
  readonly onText: (text: string) => void;
  readonly onBroken: () => void;
};

/** The browser, as far as a link uses it. */
export type LinkParts = {
  /** Opens a stream. Returns its end. */
  readonly open: (listener: StreamListener) => () => void;
  readonly after: (ms: number, act: () => void) => () => void;
};

/**
 * Follows the frames of the console for as long as the page lives. After a broken or silent stream
 * it opens another one, which begins with the whole view.
 */
export function followFrames(
  { open, after }: LinkParts,
  onFrame: (frame: Frame) => void,
  onState: (state: LinkState) => void,
): () => void {
  let end: () => void = () => undefined;
  const begin = (): void => {
    const lose = (): void => {
      close();
      cancel();
      onState('lost');
      cancel = after(againMs, begin);
    };
    let cancel = after(silenceMs, lose);
    const close = open({
      onText: (text) => {
        cancel();
        cancel = after(silenceMs, lose);
        onState('open');
        onFrame(JSON.parse(text) as Frame);
      },
      onBroken: lose,
    });
    end = () => {
      close();
      cancel();
    };
  };
  onState('connecting');
  begin();
  return () => end();
}
