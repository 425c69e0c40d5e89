export {
  accountPaces,
  type CallKind,
  type CallLimits,
  type CallObserver,
  defaultCallLimits,
} from './calls/calls.js';
export { type AwsConnection, AwsSession, type AwsSessionOptions } from './calls/session.js';
