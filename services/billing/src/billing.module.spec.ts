import { startsWithoutTools } from '@cortex/testing';
import { BillingModule, billingService } from './billing.module.js';

startsWithoutTools({ module: BillingModule, def: billingService });
