import { ownershipViews } from '@cortex/service-kit/ownership';

/** Sessions and memberships: whose the records of spending are. */
export const ownership = ownershipViews('billing');
