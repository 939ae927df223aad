import type { Bus, Log } from '@cortex/bus';
import type { ClientConfig } from 'pg';
import type { Projection } from './projection.js';

export interface ProjectionLag {
  projection: string;
  /** Highest sequence applied. */
  seq: number;
  /** Messages of its subject that are not applied yet; null when unknown (bus or database away). */
  pending: number | null;
  /** True when this instance runs it. */
  active: boolean;
  /** Messages skipped because they are no commit of their subject, and events of a newer version. */
  skipped: number;
}

export interface ProjectionRunnerOptions {
  bus: Bus;
  /** Schema of the service. */
  schema: string;
  /** Connection as the projector role; without it no projection runs. */
  database: ClientConfig;
  projections: readonly Projection[];
  /** After each batch: the projection and the workspaces it touched. */
  onBatch?: (projection: string, batch: { seq: number; workspaces: ReadonlySet<string> }) => void;
  log?: Log;
}

export class ProjectionRunner {
  constructor(readonly options: ProjectionRunnerOptions) {}
  start(): void {}
  async stop(): Promise<void> {}
  async lag(): Promise<ProjectionLag[]> {
    return [];
  }
}
