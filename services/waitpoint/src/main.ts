import { runServices } from '@cortex/service-kit';
import { WaitpointModule, waitpointService } from './waitpoint.module.js';

await runServices([{ module: WaitpointModule, def: waitpointService }]);
