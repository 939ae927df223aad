export { RemoteOpsModule, remoteOpsService } from './remote-ops.module.js';
