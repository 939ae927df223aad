import { whoseOf } from '@cortex/service-kit/whose';

/** Sessions and memberships: whose the records of spending are. */
export const whose = whoseOf('billing');
