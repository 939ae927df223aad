import { signal } from './signal/signal.js';

// A program of its own with nothing but Node in it: it stands at the end of every job, and must not take as long as one.
const { code, out, err } = await signal(process.argv.slice(2), process.env);
if (out !== undefined) process.stdout.write(`${out}\n`);
if (err !== undefined) process.stderr.write(`cortex-signal: ${err}\n`);
process.exitCode = code;
