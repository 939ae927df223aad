import { runServices } from '@cortex/service-kit';
import { BillingModule, billingService } from './billing.module.js';

await runServices([{ module: BillingModule, def: billingService }]);
