import type { Bus, BusOptions } from './bus.js';

export function connectBus(options: BusOptions): Promise<Bus> {
  return Promise.reject(new Error(`no body yet for ${options.service}`));
}
