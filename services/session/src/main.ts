import { runServices } from '@cortex/service-kit';
import { SessionModule, sessionService } from './session.module.js';

await runServices([{ module: SessionModule, def: sessionService }]);
