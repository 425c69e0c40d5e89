import type { Frame } from '@dovetail/service-console/view';

/** Whether the console answers. A page that is hidden rests: it has no stream. */
export type LinkState =
  | { readonly kind: 'connecting' | 'open' | 'lost' | 'resting' }
  | { readonly kind: 'refused'; readonly why: string };

/** The console sends something every 5 s. After three such times of silence it counts as away. */
const silenceMs = 15_000;
/** How long to wait before asking again. */
const againMs = 2_000;
/** The same after a refusal, which lasts until someone closes a page. */
const refusedAgainMs = 5_000;
/**
 * A page that is hidden for so long gives its stream back: a browser has six connections to one
 * address, and the console serves so many pages. Shorter looks at other pages cost nothing.
 */
const hiddenMs = 5_000;

/** A listener to one stream of frames. */
export type StreamListener = {
  readonly onText: (text: string) => void;
  /** The stream has ended; with the console's own words if it refused it. */
  readonly onBroken: (why?: string) => void;
};

/** The browser, as far as a link uses it. */
export type LinkParts = {
  /** Opens a stream. Returns its end. */
  readonly open: (listener: StreamListener) => () => void;
  readonly after: (ms: number, act: () => void) => () => void;
  /** Whether someone may see the page. */
  readonly isSeen: () => boolean;
  /** Calls back each time that this changes. Returns its end. */
  readonly onSight: (act: () => void) => () => void;
};

/** Takes in what a link hears. */
export type LinkListener = {
  readonly onFrame: (frame: Frame) => void;
  readonly onState: (state: LinkState) => void;
};

const nothing = (): void => undefined;

/** A link to the console, from its beginning on. */
class FrameLink {
  readonly #parts: LinkParts;
  readonly #listener: LinkListener;
  readonly #unsee: () => void;
  #close = nothing;
  #cancel = nothing;
  #cancelRest = nothing;
  #isResting = false;

  constructor(parts: LinkParts, listener: LinkListener) {
    this.#parts = parts;
    this.#listener = listener;
    this.#unsee = parts.onSight(() => this.#looked());
    this.#begin();
    // A page may be opened behind others.
    if (!parts.isSeen()) this.#looked();
  }

  end(): void {
    this.#unsee();
    this.#cancelRest();
    this.#leave();
  }

  #begin(): void {
    const lose = (): void => this.#lose({ kind: 'lost' });
    this.#wait(silenceMs, lose);
    this.#close = this.#parts.open({
      onText: (text) => {
        this.#wait(silenceMs, lose);
        this.#listener.onState({ kind: 'open' });
        this.#listener.onFrame(JSON.parse(text) as Frame);
      },
      onBroken: (why) => (why === undefined ? lose() : this.#lose({ kind: 'refused', why })),
    });
  }

  #lose(state: LinkState): void {
    this.#leave();
    this.#listener.onState(state);
    this.#wait(state.kind === 'refused' ? refusedAgainMs : againMs, () => this.#begin());
  }

  #looked(): void {
    this.#cancelRest();
    if (!this.#parts.isSeen()) {
      this.#cancelRest = this.#parts.after(hiddenMs, () => this.#rest());
    } else if (this.#isResting) {
      this.#isResting = false;
      this.#listener.onState({ kind: 'connecting' });
      this.#begin();
    }
  }

  #rest(): void {
    this.#isResting = true;
    this.#leave();
    this.#listener.onState({ kind: 'resting' });
  }

  #leave(): void {
    this.#close();
    this.#cancel();
  }

  #wait(ms: number, act: () => void): void {
    this.#cancel();
    this.#cancel = this.#parts.after(ms, act);
  }
}

/**
 * Follows the frames of the console for as long as the page lives. After a broken or silent stream
 * it opens another one, which begins with the whole view. A page that is hidden for a while gives
 * its stream back, and opens one again once it is seen.
 */
export function followFrames(parts: LinkParts, listener: LinkListener): () => void {
  listener.onState({ kind: 'connecting' });
  const link = new FrameLink(parts, listener);
  return () => link.end();
}
