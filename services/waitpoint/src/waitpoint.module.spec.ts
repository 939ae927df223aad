import { startsWithoutTools } from '@cortex/testing';
import { WaitpointModule, waitpointService } from './waitpoint.module.js';

startsWithoutTools({ module: WaitpointModule, def: waitpointService });
