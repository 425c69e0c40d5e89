import { programOf, runProgram } from './program.js';
import { flushed } from './terminal.js';

await runProgram(programOf(process.env), process.argv.slice(2));
await flushed();
// An attempt to connect that a server left unanswered would keep the process alive.
process.exit();
