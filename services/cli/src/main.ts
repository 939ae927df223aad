import { EXIT, exitCodeOf, messageOf } from './exit.js';
import { program } from './program.js';

// `cortex events | head`: whoever reads us may stop before we do.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failed),
);

try {
  await program().parseAsync();
} catch (error) {
  const text = messageOf(error);
  if (text !== '') process.stderr.write(`cortex: ${text}\n`);
  process.exitCode = exitCodeOf(error);
}
