import { ownershipViews } from '@cortex/service-kit/ownership';

/** Sessions and memberships: whose the executions are. */
export const ownership = ownershipViews('audit');
