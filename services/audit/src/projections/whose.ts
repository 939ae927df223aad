import { whoseOf } from '@cortex/service-kit/whose';

/** Sessions and memberships: whose the executions are. */
export const whose = whoseOf('audit');
