import { runServices, ServiceKit } from '@cortex/service-kit';
import { Module } from '@nestjs/common';
import { echoService } from './echo.js';

/** Process of the echo service: `echo-main.js <number of tools>`. */
const def = echoService(Number(process.argv[2]));

@Module({ imports: [ServiceKit.forService(def)] })
class EchoModule {}

process.once('disconnect', () => process.exit(0));
await runServices([{ module: EchoModule, def }]);
process.send?.({ ready: true });
