export * from './bus/catalog.js';
export {
  type Channel,
  type ChannelBus,
  collectBlob,
  payloadOf,
  type Reader,
} from './bus/channel.js';
export * from './bus/dead-letters.js';
export * from './bus/decisions.js';
export * from './bus/planner.js';
export * from './bus/records.js';
export * from './bus/state.js';
export * from './bus/work.js';
export * from './cloud-event.js';
export * from './codec/index.js';
export * from './headers.js';
export * from './limits.js';
export * from './messages.js';
export * from './planner-messages.js';
export * from './rights.js';
export * from './subjects.js';
export * from './traces.js';
