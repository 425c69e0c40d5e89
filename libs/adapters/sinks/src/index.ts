/** Receivers of decisions: a webhook, a channel of Slack's format, and Amazon EventBridge. */
export { eventBridge } from './event-bridge.js';
export { isSigningKey } from './signature.js';
export { slack } from './slack.js';
export { webhook } from './webhook.js';
