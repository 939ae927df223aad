import type { Runnable } from '@cortex/service-kit';
import { expect, it } from '@jest/globals';
import { startService } from './start-service.js';

/** The test of a service that has no tools yet: it starts with its schema, is ready, and announces an empty list. */
export function startsWithoutTools(service: Runnable): void {
  it(`${service.def.name} starts, is ready and says that it has no tools yet`, async () => {
    await using app = await startService(service);
    expect(await app.host.health.report()).toMatchObject({ ready: true });
    const entry = await app.host.bus.kv('cortex_tools').get(service.def.name);
    expect(entry?.json()).toMatchObject({ service: service.def.name, tools: [] });
  });
}
