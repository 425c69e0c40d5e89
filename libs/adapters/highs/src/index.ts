export * from './highs-solver.js';
