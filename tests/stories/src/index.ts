export { runCommand } from './commands.js';
export type { Settings } from './services.js';
export { StoryStage } from './story-stage.js';
