import { runServices } from '@cortex/service-kit';
import { echoService, EchoModule } from './echo.js';

process.once('disconnect', () => process.exit(0));
await runServices([{ module: EchoModule, def: echoService }]);
process.send?.({ ready: true });
