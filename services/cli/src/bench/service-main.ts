import { runServices, ServiceKit } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { echoService } from './echo.js';
import { notesService } from './notes.js';

/** Process of a service of the bench: `service-main.js echo <number of tools>`, or `service-main.js notes`. */
const [which, tools] = process.argv.slice(2);
const def = which === 'notes' ? notesService : echoService(Number(tools));

@Module({ imports: [ServiceKit.forService(def)] })
class BenchModule {}

process.once('disconnect', () => process.exit(0));
await runServices([{ module: BenchModule, def }]);
process.send?.({ ready: true });
