export { MemoryBusServer } from './server.js';
export { memoryBus } from './bus.js';
export { matchesSubject } from './subject-filter.js';
