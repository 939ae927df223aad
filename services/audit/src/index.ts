export { AuditModule, auditService } from './audit.module.js';
