import { startsWithoutTools } from '@cortex/testing';
import { SessionModule, sessionService } from './session.module.js';

startsWithoutTools({ module: SessionModule, def: sessionService });
