export { type CallObserver } from './calls/calls.js';
export { type AwsConnection, AwsSession } from './calls/session.js';
