import type { Bus, Log } from '@cortex/bus';
import type { Migrations, Projection } from './projection.js';

export interface RebuildOptions {
  /** As the provisioning user: rebuild makes an own consumer. */
  bus: Bus;
  adminUrl: string;
  service: string;
  projection: Projection;
  migrations: Migrations;
  onProgress?: (progress: { applied: number; pending: number }) => void;
  signal?: AbortSignal;
  log?: Log;
}

/** Fills a fresh copy of the projection's tables beside the live ones and swaps them in one transaction. */
export async function rebuildProjection(options: RebuildOptions): Promise<{ applied: number; seq: number }> {
  throw new Error(`no body yet ${options.service}`);
}
