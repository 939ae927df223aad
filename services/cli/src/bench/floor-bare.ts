import { echoResult } from './request.js';
import { serveCalls } from './floor-server.js';

/** Floor (a): what node:http itself costs. */
serveCalls((args) => echoResult(args.text));
