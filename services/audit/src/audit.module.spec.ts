import { startsWithoutTools } from '@cortex/testing';
import { AuditModule, auditService } from './audit.module.js';

startsWithoutTools({ module: AuditModule, def: auditService });
