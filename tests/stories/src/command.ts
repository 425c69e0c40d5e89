import type { StoryStage } from './story-stage.js';

/** One line of a story: its words, and what it does. */
export type Command = {
  readonly pattern: RegExp;
  readonly run: (stage: StoryStage, words: Readonly<Record<string, string>>) => unknown;
};
