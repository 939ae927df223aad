import { runServices } from '@cortex/service-kit';
import { AuditModule, auditService } from './audit.module.js';

await runServices([{ module: AuditModule, def: auditService }]);
