export { BillingModule, billingService } from './billing.module.js';
