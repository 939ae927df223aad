import { runService } from '@cortex/service-kit';
import { RemoteOpsModule, remoteOpsService } from './remote-ops.module.js';

await runService(RemoteOpsModule, remoteOpsService);
