export { runCommand } from './commands.js';
export { defaultSettings, type Settings } from './services.js';
export { StoryStage } from './story-stage.js';
