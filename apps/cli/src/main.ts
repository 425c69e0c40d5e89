import { programOf, runProgram } from './program.js';

await runProgram(programOf(process.env), process.argv.slice(2));
